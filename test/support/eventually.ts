// For state that no event tells of.

/** Waits until `holds` resolves to true. */
export async function eventually(holds: () => Promise<boolean>, timeoutMs = 10_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error('Not in time');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
