// Numbers of things in English sentences about content.

/** `1 word`, `2 words`, `3 classes`. */
export function counted(count: number, noun: string): string {
  if (count === 1) return `1 ${noun}`;
  return `${count} ${noun}${noun.endsWith('s') ? 'es' : 's'}`;
}
