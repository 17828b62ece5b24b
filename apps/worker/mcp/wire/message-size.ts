// Estimates how large a message was before it was parsed: its text, plus a little for everything else.

const perValue = 4;

/** Not recursive, since a message may be nested as deep as its bytes allow. */
export function messageSize(message: unknown): number {
  let bytes = 0;
  const left: unknown[] = [message];
  while (left.length > 0) {
    const value = left.pop();
    bytes += perValue;
    if (typeof value === 'string') bytes += value.length;
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, each] of Object.entries(value)) {
      bytes += key.length;
      left.push(each);
    }
  }
  return bytes;
}
