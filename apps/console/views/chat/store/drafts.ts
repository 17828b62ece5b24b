// What was typed and not sent, by conversation. It is written at once, so that closing the tab loses nothing.
const longestDraft = 200_000;

const placeOf = (owner: string, id: string) => `signalbox.draft.${owner}.${id}`;

export function readDraft(owner: string, id: string): string {
  try {
    return localStorage.getItem(placeOf(owner, id)) ?? '';
  } catch {
    return '';
  }
}

export function keepDraft(owner: string, id: string, text: string): void {
  try {
    if (text === '') localStorage.removeItem(placeOf(owner, id));
    else if (text.length <= longestDraft) localStorage.setItem(placeOf(owner, id), text);
  } catch {
    // The text is still in the page.
  }
}
