// Works off a list some at a time, in its order.

/**
 * Resolves when `work` is done with every item. When one fails, nothing more is begun.
 * @param atOnce how many at most are worked on at the same time
 * @throws what `work` throws first, while others that were begun may still go on
 */
export async function eachInTurn<T>(
  items: Iterable<T>,
  atOnce: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const waiting = items[Symbol.iterator]();
  let failed = false;
  const lane = async () => {
    for (let next = waiting.next(); next.done !== true && !failed; next = waiting.next()) {
      try {
        await work(next.value);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}
