// Sentences about content, in the language of the content.

/** The language that texts about the content are written in. */
export type Tongue = 'zh' | 'en';

export function say(tongue: Tongue, sentence: Readonly<Record<Tongue, string>>): string {
  return sentence[tongue];
}

/** `1 word`, `2 words`, `3 classes`. */
export function counted(count: number, noun: string): string {
  if (count === 1) return `1 ${noun}`;
  return `${count} ${noun}${noun.endsWith('s') ? 'es' : 's'}`;
}
