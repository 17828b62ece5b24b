// The draft of the policy that a person works on: kept for the tab, so that a reload and a way over another view lose nothing.
import { ExternalValue } from '../../api/external-value.js';

const place = 'signalbox.policy-draft';

/** Null: there is none. */
export const policyDraft = new ExternalValue<string | null>(read());

export function keepPolicyDraft(text: string | null): void {
  policyDraft.set(text);
  try {
    if (text === null) sessionStorage.removeItem(place);
    else sessionStorage.setItem(place, text);
  } catch {
    // A draft that is larger than what the browser keeps lasts as long as the page.
  }
}

function read(): string | null {
  return sessionStorage.getItem(place);
}
