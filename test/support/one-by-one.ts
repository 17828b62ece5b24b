// What is pushed in batches, event by event, for tests that look at each; one that leaves has enough.
import type { Flow } from '../../libs/concurrency/flow.js';
import type { ModelEvent } from '../../libs/schemas/model-event.js';

type Call<Event> = (take: (batch: readonly Event[]) => Flow) => Promise<void>;

export async function* oneByOne<Event = ModelEvent>(call: Call<Event>): AsyncGenerator<Event, void> {
  const waiting: { batch: readonly Event[]; taken: (flow: 'enough' | undefined) => void }[] = [];
  let current: (typeof waiting)[number] | undefined;
  let wake: () => void = () => undefined;
  let over = false;
  let left = false;
  const called = call((batch) => {
    if (left) return 'enough';
    return new Promise((taken) => {
      waiting.push({ batch, taken });
      wake();
    });
  }).finally(() => {
    over = true;
    wake();
  });
  called.catch(() => undefined);
  try {
    for (;;) {
      const next = waiting.shift();
      if (next !== undefined) {
        current = next;
        yield* next.batch;
        current = undefined;
        next.taken(undefined);
      } else if (over) {
        await called;
        return;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    left = true;
    current?.taken('enough');
    for (const { taken } of waiting) taken('enough');
    // Whoever leaves finds the call over.
    await called.catch(() => undefined);
  }
}

/** A generator of batches as a call that pushes them. */
export function pushing<Args extends readonly unknown[], Event>(
  generate: (...args: Args) => AsyncIterable<readonly Event[]>,
): (...args: [...Args, take: (batch: readonly Event[]) => Flow]) => Promise<void> {
  return async (...given) => {
    const take = given.at(-1) as (batch: readonly Event[]) => Flow;
    for await (const batch of generate(...(given.slice(0, -1) as unknown as Args))) {
      if ((await take(batch)) === 'enough') return;
    }
  };
}

/** Pieces of a body as an upstream's answer pushes them. */
export function answering(
  type: string,
  next: () => Promise<Uint8Array | undefined> | Uint8Array | undefined,
  onHurry: (ms: number) => void = () => undefined,
) {
  return {
    headers: { 'content-type': type },
    async read(take: (bytes: Uint8Array) => Flow): Promise<void> {
      for (let bytes = await next(); bytes !== undefined; bytes = await next()) {
        if ((await take(bytes)) === 'enough') return;
      }
    },
    hurry: onHurry,
  };
}
