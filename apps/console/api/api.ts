// The gateway, by the client library. All requests of the page pass here, so that one place sees that a key is missing, and that the
// gateway went away and came back.
import { Signalbox } from '@signalbox/client';
import { gatewayUrl } from './addresses.js';
import { credential, signInWanted } from './credentials.js';
import { ExternalValue } from './external-value.js';
import { fetchWithProgress } from './fetch-with-progress.js';

/** True from a request that found no gateway until it answers again. */
export const gatewayAway = new ExternalValue(false);

const firstLookMs = 1_000;
const longestLookMs = 10_000;

const requestOf = (input: string, init: RequestInit): Promise<Response> => fetch(input, init);

export const api = new Signalbox({
  baseUrl: gatewayUrl,
  apiKey: () => credential.get(),
  // The page shows that the gateway is away, and goes on by itself when it is back.
  maxRetries: 1,
  fetch: (input, init) => watchedFetch(input, init),
});

/** A client whose requests tell how much of their body has been sent. */
export const uploadingApi = (onSent: (bytes: number) => void): Signalbox =>
  new Signalbox({
    baseUrl: gatewayUrl,
    apiKey: () => credential.get(),
    maxRetries: 0,
    fetch: (input, init) => watchedFetch(input, init, (...request) => fetchWithProgress(...request, onSent)),
  });

async function watchedFetch(input: string, init: RequestInit, send: typeof requestOf = requestOf): Promise<Response> {
  const sent = credential.get();
  try {
    const response = await send(input, init);
    gatewayAway.set(false);
    // A request that was under way when somebody signed in says nothing about the new key.
    if (response.status === 401 && credential.get() === sent) signInWanted.set(true);
    return response;
  } catch (error) {
    if (init.signal?.aborted !== true) noteAway();
    throw error;
  }
}

function noteAway(): void {
  if (gatewayAway.get()) return;
  gatewayAway.set(true);
  void lookForGateway();
}

async function lookForGateway(): Promise<void> {
  for (let pauseMs = firstLookMs; gatewayAway.get(); pauseMs = Math.min(pauseMs * 1.5, longestLookMs)) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    const found = await fetch(`${gatewayUrl}/health/live`, { signal: AbortSignal.timeout(longestLookMs) }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (found) gatewayAway.set(false);
  }
}
