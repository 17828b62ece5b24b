// The events of a run as its stream has them, in the form that the gateway shows of a run that has ended: pieces of one text are one
// event. Pure.
import type { ChatEvent, ShownEvent } from '@signalbox/client';

export type RunEvent = ShownEvent & Record<string, unknown>;

/** Older ones are left out of a run that is followed live; the whole list is there when it has ended. */
const mostEvents = 20_000;

export class LiveEvents {
  private events: RunEvent[] = [];
  /** The call that the last event is a piece of. */
  private index: number | undefined;

  list(): readonly RunEvent[] {
    return [...this.events];
  }

  add(event: ChatEvent): void {
    if (event.type === 'rewind') {
      this.events = this.events.filter(({ n }) => n <= event.to);
      this.index = undefined;
      return;
    }
    const last = this.events.at(-1);
    const piece = pieceOf(event);
    const isSame =
      last !== undefined &&
      piece !== undefined &&
      last.type === event.type &&
      (piece.index === undefined || (piece.index === this.index && piece.isFirst !== true));
    this.index = piece?.index;
    if (isSame) {
      // A changed event is another object, so that what was shown is drawn again.
      const grown = String(last[piece.member]) + piece.text;
      this.events[this.events.length - 1] = { ...last, n: event.n, [piece.member]: grown };
      return;
    }
    this.events.push(shown(event));
    if (this.events.length > mostEvents) this.events.shift();
  }
}

interface Piece {
  member: string;
  text: string;
  index?: number;
  isFirst?: boolean;
}

type Numbered = Exclude<ChatEvent, { type: 'rewind' }>;

function pieceOf(event: Numbered): Piece | undefined {
  if (event.type === 'content') return { member: 'text', text: event.delta.content };
  if (event.type === 'reasoning') return { member: 'text', text: event.delta.reasoning_content };
  if (event.type !== 'tool_call') return undefined;
  const [call] = event.delta.tool_calls;
  if (call === undefined) return undefined;
  return { member: 'arguments', text: call.function.arguments, index: call.index, isFirst: call.id !== undefined };
}

function shown(event: Numbered): RunEvent {
  const { n, type } = event;
  switch (type) {
    case 'content':
      return { n, type, text: event.delta.content };
    case 'reasoning':
      return { n, type, text: event.delta.reasoning_content };
    case 'tool_call': {
      const [call] = event.delta.tool_calls;
      return { n, type, tool_call_id: call?.id, name: call?.function.name, arguments: call?.function.arguments };
    }
    default: {
      // What every chunk repeats says nothing about this event.
      const { id: _id, object: _object, created: _created, choices: _choices, model, ...members } = event;
      return type === 'start' ? { model, ...members } : members;
    }
  }
}
