// The cache of what the gateway answered. The client library repeats what may be repeated, so the cache repeats nothing.
import { QueryClient } from '@tanstack/react-query';
import { credential, signInWanted } from './credentials.js';
import { gatewayAway } from './api.js';

const freshMs = 5_000;

export const queries = new QueryClient({
  defaultOptions: {
    // Whether the browser believes to be online says nothing about a gateway on this machine.
    queries: { retry: false, staleTime: freshMs, networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always' },
  },
});

// What failed, or was somebody else's, is asked again.
gatewayAway.follow(() => {
  if (!gatewayAway.get()) void queries.invalidateQueries();
});
credential.follow(() => {
  signInWanted.set(false);
  void queries.resetQueries();
});
