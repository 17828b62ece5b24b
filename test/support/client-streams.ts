// For tests of the client library: answers that wait, and what is left of a stream's events.
import type { ScriptedAnswer } from '#libs/testing/scripted-answer.js';
import type { ChatEvent } from '../../clients/typescript/src/index.js';

const frame = (delta: object, finish: string | null = null) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'scripted',
  choices: [{ index: 0, delta, finish_reason: finish }],
});

/** An answer in two halves; the second is sent when the test says so. */
export function heldAnswer(first: string, second: string) {
  let release = () => undefined as void;
  const released = new Promise<void>((resolve) => (release = () => resolve()));
  const answer: ScriptedAnswer = {
    chunks: [frame({ role: 'assistant', content: first }), released, frame({ content: second }), frame({}, 'stop')],
  };
  return { answer, release };
}

export const textOf = (events: readonly ChatEvent[]) =>
  events.flatMap((event) => (event.type === 'content' ? [event.delta.content] : [])).join('');
export const numbersOf = (events: readonly ChatEvent[]) =>
  events.flatMap((event) => (event.type === 'rewind' ? [] : [event.n]));

/** What a page shows that removes what a `rewind` withdraws. */
export function withoutWithdrawn(events: readonly ChatEvent[]): ChatEvent[] {
  return events.reduce<ChatEvent[]>(
    (standing, event) =>
      event.type === 'rewind'
        ? standing.filter((each) => each.type !== 'rewind' && each.n <= event.to)
        : [...standing, event],
    [],
  );
}
