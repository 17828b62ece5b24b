// Where callers sign in at tool servers: a page of the gateway, which whoever waits opens in a browser.
import type { SignIns } from '#libs/waits/sign-in.js';

/** `publicUrl`: the gateway as browsers reach it. */
export const signInsAt = (publicUrl: string): SignIns => ({
  addressOf: ({ id }) => `${publicUrl.replace(/\/+$/, '')}/connections/open/${id}`,
});
