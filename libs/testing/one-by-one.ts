// Batches of events as the events, for tests that look at each.
export async function* oneByOne<Event>(batches: AsyncIterable<readonly Event[]>): AsyncGenerator<Event, void> {
  for await (const batch of batches) yield* batch;
}
