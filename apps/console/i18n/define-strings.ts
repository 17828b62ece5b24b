// Texts in both languages, side by side. A text with parts is a function.
type Text = string | ((...parts: never[]) => string);
type Form<Of> = Of extends (...parts: infer Parts) => string ? (...parts: Parts) => string : string;
type Forms<Texts> = { readonly [Name in keyof Texts]: Form<Texts[Name]> };

export interface Strings<Texts> {
  en: Texts;
  zh: Texts;
}

/** The compiler wants every name of `en` in `zh`, with the same parts. */
export function defineStrings<const Texts extends Record<string, Text>>(strings: {
  en: Texts;
  zh: Forms<NoInfer<Texts>>;
}): Strings<Forms<Texts>> {
  return strings as unknown as Strings<Forms<Texts>>;
}
