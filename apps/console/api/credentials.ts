// The key or token of whoever uses the page. It is kept for this tab alone and sent as a header, never as a cookie: no other
// page can make the browser send it.
import { ExternalValue } from './external-value.js';

const place = 'signalbox.key';

export const credential = new ExternalValue<string | undefined>(sessionStorage.getItem(place) ?? undefined);

export function keepCredential(key: string | undefined): void {
  if (key === undefined) sessionStorage.removeItem(place);
  else sessionStorage.setItem(place, key);
  credential.set(key);
}

/** True while a key is shown that can be seen nowhere else: the sign-in waits until it is copied. */
export const signInHeld = new ExternalValue(false);

/** True while the gateway has refused the last request for want of a key: the sign-in is shown. */
export const signInWanted = new ExternalValue(false);
