// Signing in at an OIDC issuer: the code flow with PKCE, in a window of its own, so that what was typed on the page stays. Where the
// browser opens no such window, the page itself goes there and comes back.
import { consolePath } from '../api/addresses.js';
import { keepCredential } from '../api/credentials.js';

interface Issuer {
  issuer: string;
  client_id: string;
}

interface Pending extends Issuer {
  state: string;
  verifier: string;
  /** Where the page goes on, if it went to the issuer itself. */
  back?: string;
}

interface Answer {
  state: string;
  code: string | null;
  error: string | null;
  issuer: string | null;
}

const place = 'signalbox.oidc';
const channelName = 'signalbox.oidc';
const askMs = 15_000;
/** A person has this long to sign in. */
const signInMs = 600_000;

/** The address that the issuer must know. */
const redirectUri = (): string => new URL(`${consolePath}/`, location.href).href;

/** Resolves with the token. Call it from a click: otherwise browsers open no window. */
export async function signInAt({ issuer, client_id }: Issuer, signal: AbortSignal): Promise<string> {
  const pending: Pending = { issuer, client_id, state: randomText(), verifier: randomText() };
  const popup = open('', '_blank', 'popup,width=520,height=680');
  try {
    const address = await addressFor(pending);
    if (popup === null) {
      sessionStorage.setItem(place, JSON.stringify({ ...pending, back: location.href }));
      location.assign(address);
      return await new Promise<never>(() => {});
    }
    popup.location.replace(address);
    return await tokenFor(pending, await answerOf(pending, signal));
  } finally {
    popup?.close();
  }
}

/**
 * Call before the page is shown. If the issuer sent the browser here, it passes the answer on to the page that asked and returns
 * true: this window is not needed. Or it signs in here, where the page itself had gone to the issuer.
 */
export async function finishSignIn(): Promise<boolean> {
  const given = new URLSearchParams(location.search);
  const state = given.get('state');
  if (state === null || (given.get('code') === null && given.get('error') === null)) return false;
  const answer: Answer = { state, code: given.get('code'), error: given.get('error'), issuer: given.get('iss') };
  const kept = sessionStorage.getItem(place);
  const pending = kept === null ? undefined : (JSON.parse(kept) as Pending);
  sessionStorage.removeItem(place);
  if (pending?.back === undefined || pending.state !== state) {
    const channel = new BroadcastChannel(channelName);
    // A channel has no target: only pages of this origin have it.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    channel.postMessage(answer);
    channel.close();
    history.replaceState(null, '', redirectUri());
    close();
    return true;
  }
  history.replaceState(null, '', pending.back);
  // What fails here is asked for again: nobody is signed in.
  await tokenFor(pending, answer).then(keepCredential, () => undefined);
  return false;
}

function answerOf({ state }: Pending, signal: AbortSignal): Promise<Answer> {
  const channel = new BroadcastChannel(channelName);
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const end = AbortSignal.any([signal, AbortSignal.timeout(signInMs)]);
  channel.addEventListener('message', ({ data }: MessageEvent<Answer>) => {
    if (data.state === state) resolve(data);
  });
  end.addEventListener('abort', () => reject(end.reason as Error));
  return promise.finally(() => channel.close());
}

async function addressFor({ issuer, client_id, state, verifier }: Pending): Promise<string> {
  // Browsers have this only on pages with TLS, and on those of this machine.
  if (crypto.subtle === undefined) throw new Error('This page needs https');
  const { authorization_endpoint } = await discover(issuer);
  const challenge = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  const address = new URL(authorization_endpoint);
  const parameters = {
    response_type: 'code',
    client_id,
    redirect_uri: redirectUri(),
    scope: 'openid',
    state,
    code_challenge: base64Url(new Uint8Array(challenge)),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
  return address.href;
}

async function tokenFor(pending: Pending, answer: Answer): Promise<string> {
  if (answer.error !== null) throw new Error(answer.error);
  if (answer.issuer !== null && answer.issuer !== pending.issuer) throw new Error('Another issuer answered');
  const { token_endpoint } = await discover(pending.issuer);
  const response = await fetch(token_endpoint, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: answer.code ?? '',
      redirect_uri: redirectUri(),
      client_id: pending.client_id,
      code_verifier: pending.verifier,
    }),
    signal: AbortSignal.timeout(askMs),
  });
  const { access_token, error } = (await response.json()) as { access_token?: unknown; error?: unknown };
  if (typeof access_token !== 'string') throw new Error(typeof error === 'string' ? error : 'no token');
  return access_token;
}

async function discover(issuer: string): Promise<{ authorization_endpoint: string; token_endpoint: string }> {
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const response = await fetch(address, { signal: AbortSignal.timeout(askMs) });
  const found = (await response.json()) as Record<string, unknown>;
  const { authorization_endpoint, token_endpoint } = found;
  if (typeof authorization_endpoint !== 'string' || typeof token_endpoint !== 'string' || found['issuer'] !== issuer) {
    throw new Error(`${address} is not a discovery document of this issuer`);
  }
  return { authorization_endpoint, token_endpoint };
}

const randomText = (): string => base64Url(crypto.getRandomValues(new Uint8Array(32)));

const base64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
