// Whether a text is one: binary data and text that was read in a wrong encoding are not.

/** What no text has: control characters but tab, line feed, form feed and carriage return; and what a decoder gave up on. */
const foreign = /[\0-\x08\x0b\x0e-\x1f\x7f\ufffd]|\p{Surrogate}/gu;
/** A few of them are damage, in a text of any length. */
const minForeign = 3;

export const countForeign = (text: string): number => text.match(foreign)?.length ?? 0;

/** Whether so many foreign characters are too many for a text: a tenth of it. */
export const isUnreadable = (text: string, count = countForeign(text)): boolean =>
  count > minForeign && count >= text.length / 10;

/** Without NUL, which databases refuse, and with `\ufffd` for the others. */
export const withoutForeignCharacters = (text: string): string =>
  text.replace(foreign, (found) => (found === '\0' ? '' : '\ufffd'));
