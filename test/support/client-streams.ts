// For tests of the client library: answers that wait, and what is left of a stream's events.
import { expect } from 'vitest';
import type { ScriptedAnswer } from './scripted-answer.js';
import type { ChatEvent, Signalbox } from '../../clients/typescript/src/index.js';
import { user } from './approvals-client.js';

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

/** The whole answer of a stream arrives before its reader sees anything. */
export async function fetchWhole(input: string, init: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  return new Response(await response.arrayBuffer(), response);
}

/** Aborts a stream at its first piece of text, which must be the last that is seen. Returns the id of the run. */
export async function abortAtText(signalbox: Signalbox): Promise<string> {
  const controller = new AbortController();
  const stream = signalbox.stream({ messages: [user('x')] }, { signal: controller.signal });
  const seen: ChatEvent[] = [];
  await expect(async () => {
    for await (const event of stream) {
      seen.push(event);
      if (event.type === 'content') controller.abort(new Error('enough'));
    }
  }).rejects.toThrow('enough');
  expect(seen.filter(({ type }) => type === 'content')).toEqual([seen.at(-1)]);
  return stream.runId!;
}
