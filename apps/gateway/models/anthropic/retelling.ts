// A message that begins again mostly says the same again: what a caller was told already is not told twice. Where it
// says something else it is told anew, from its start.
import type { ModelEvent } from '#libs/schemas/model-event.js';

interface Said {
  text: string;
  reasoning: string;
  calls: { name: string; arguments: string }[];
}

const nothing = (): Said => ({ text: '', reasoning: '', calls: [] });

export class Retelling {
  private told = nothing();
  /** Of the message that began again, until it is known whether it says the same. */
  private held?: { events: ModelEvent[]; said: Said };

  tell(heard: readonly ModelEvent[], out: ModelEvent[]): void {
    for (const event of heard) {
      if (event.type === 'message_start' && (this.told.text !== '' || this.told.calls.length > 0)) {
        this.held = { events: [event], said: nothing() };
      } else if (this.held === undefined) {
        if (event.type === 'message_start') this.told = nothing();
        note(event, this.told);
        out.push(event);
      } else {
        this.held.events.push(event);
        note(event, this.held.said);
        this.decide(event, out);
      }
    }
  }

  private decide(event: ModelEvent, out: ModelEvent[]): void {
    const { told } = this;
    const { events, said } = this.held!;
    if (event.type === 'error') out.push(event);
    else if (agrees(said, told) && covers(said, told)) out.push(...beyond(said, told));
    else if (agrees(said, told) && event.type !== 'message_end') return;
    else out.push(...events);
    this.told = said;
    delete this.held;
  }
}

function note(event: ModelEvent, said: Said): void {
  switch (event.type) {
    case 'text_delta':
      said.text += event.text;
      break;
    case 'reasoning_delta':
      said.reasoning += event.text;
      break;
    case 'tool_call_start':
      said.calls.push({ name: event.name, arguments: '' });
      break;
    case 'tool_call_delta':
      said.calls[event.index]!.arguments += event.arguments;
      break;
    default:
  }
}

/** Text and calls alone: a message that begins again may come to the same by another thought. */
function agrees(said: Said, told: Said): boolean {
  const alike = (left: string, right: string) => left.startsWith(right) || right.startsWith(left);
  return (
    alike(said.text, told.text) &&
    // Within a call nothing else can be told.
    (told.calls.length === 0 || said.text.length <= told.text.length) &&
    said.calls.every((call, at) => {
      const before = told.calls[at];
      return before === undefined || (before.name === call.name && alike(before.arguments, call.arguments));
    })
  );
}

function covers(said: Said, told: Said): boolean {
  return (
    said.text.length >= told.text.length &&
    told.calls.every((call, at) => (said.calls[at]?.arguments.length ?? -1) >= call.arguments.length)
  );
}

/** What `said` has more than `told`, which it begins with; calls that are begun only now come by themselves. */
function beyond(said: Said, told: Said): ModelEvent[] {
  const events: ModelEvent[] = [];
  const reasoning = told.calls.length > 0 ? '' : beyondReasoning(said.reasoning, told.reasoning);
  const text = said.text.slice(told.text.length);
  if (reasoning !== '') events.push({ type: 'reasoning_delta', text: reasoning });
  if (text !== '') events.push({ type: 'text_delta', text });
  said.calls.forEach((call, index) => {
    const before = told.calls[index];
    if (before === undefined) events.push({ type: 'tool_call_start', index, id: '', name: call.name });
    const rest = call.arguments.slice(before?.arguments.length ?? 0);
    if (rest !== '') events.push({ type: 'tool_call_delta', index, arguments: rest });
  });
  return events;
}

function beyondReasoning(said: string, told: string): string {
  if (said.startsWith(told)) return said.slice(told.length);
  return told.startsWith(said) ? '' : said;
}
