// Some servers start a message again in the middle of a stream, mostly with the same content. Passes on only new content.
// If the content differs, the new message is passed on from its start.
import type { ModelEvent } from '#libs/schemas/model-event.js';

interface Content {
  text: string;
  reasoning: string;
  calls: { name: string; arguments: string }[];
}

const empty = (): Content => ({ text: '', reasoning: '', calls: [] });

export class RepeatFilter {
  private sent = empty();
  /** The new message, until it is clear whether it repeats the old one. */
  private held?: { events: ModelEvent[]; content: Content };

  pass(events: readonly ModelEvent[], out: ModelEvent[]): void {
    for (const event of events) {
      if (event.type === 'message_start' && (this.sent.text !== '' || this.sent.calls.length > 0)) {
        this.held = { events: [event], content: empty() };
      } else if (this.held === undefined) {
        if (event.type === 'message_start') this.sent = empty();
        add(event, this.sent);
        out.push(event);
      } else {
        this.held.events.push(event);
        add(event, this.held.content);
        this.decide(event, out);
      }
    }
  }

  private decide(event: ModelEvent, out: ModelEvent[]): void {
    const { sent } = this;
    const { events, content } = this.held!;
    if (event.type === 'error') out.push(event);
    else if (agrees(content, sent) && covers(content, sent)) out.push(...rest(content, sent));
    else if (agrees(content, sent) && event.type !== 'message_end') return;
    else out.push(...events);
    this.sent = content;
    delete this.held;
  }
}

function add(event: ModelEvent, content: Content): void {
  switch (event.type) {
    case 'text_delta':
      content.text += event.text;
      break;
    case 'reasoning_delta':
      content.reasoning += event.text;
      break;
    case 'tool_call_start':
      content.calls.push({ name: event.name, arguments: '' });
      break;
    case 'tool_call_delta':
      content.calls[event.index]!.arguments += event.arguments;
      break;
    default:
  }
}

/** Compares text and calls only: the reasoning may differ. */
function agrees(content: Content, sent: Content): boolean {
  const alike = (left: string, right: string) => left.startsWith(right) || right.startsWith(left);
  return (
    alike(content.text, sent.text) &&
    // After a call has started, no more text can be sent.
    (sent.calls.length === 0 || content.text.length <= sent.text.length) &&
    content.calls.every((call, at) => {
      const before = sent.calls[at];
      return before === undefined || (before.name === call.name && alike(before.arguments, call.arguments));
    })
  );
}

function covers(content: Content, sent: Content): boolean {
  return (
    content.text.length >= sent.text.length &&
    sent.calls.every((call, at) => (content.calls[at]?.arguments.length ?? -1) >= call.arguments.length)
  );
}

/** The part of `content` that goes beyond `sent`. */
function rest(content: Content, sent: Content): ModelEvent[] {
  const events: ModelEvent[] = [];
  const reasoning = sent.calls.length > 0 ? '' : restOfReasoning(content.reasoning, sent.reasoning);
  const text = content.text.slice(sent.text.length);
  if (reasoning !== '') events.push({ type: 'reasoning_delta', text: reasoning });
  if (text !== '') events.push({ type: 'text_delta', text });
  content.calls.forEach((call, index) => {
    const before = sent.calls[index];
    if (before === undefined) events.push({ type: 'tool_call_start', index, id: '', name: call.name });
    const more = call.arguments.slice(before?.arguments.length ?? 0);
    if (more !== '') events.push({ type: 'tool_call_delta', index, arguments: more });
  });
  return events;
}

function restOfReasoning(now: string, sent: string): string {
  if (now.startsWith(sent)) return now.slice(sent.length);
  return sent.startsWith(now) ? '' : now;
}
