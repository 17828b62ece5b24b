// Where callers sign in at tool servers: a page of the gateway, which whoever waits opens in a browser.
import type { SignIns } from '#libs/waits/sign-in.js';

/** `id`: of a wait, or of a sign-in that was begun. `publicUrl`: the gateway as browsers reach it, without a final slash. */
export const signInAddress = (publicUrl: string, id: string): string => `${publicUrl}/connections/open/${id}`;

export const signInsAt = (publicUrl: string): SignIns => ({ addressOf: ({ id }) => signInAddress(publicUrl, id) });
