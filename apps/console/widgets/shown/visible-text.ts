// Characters that change how a text looks without being seen: a name must not be able to pose as another one.
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Shows such characters by their numbers. Line ends and tabs stay. */
export const visibleText = (text: string): string =>
  text.replace(hidden, (each) =>
    each === '\r' ? '' : `⟨U+${each.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`,
  );
