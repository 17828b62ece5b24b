// Who uses the page, and what they may do.
import { queryOptions, useQuery } from '@tanstack/react-query';
import { api } from './api.js';
import type { Me } from '@signalbox/client';

export type Scope = Me['scopes'][number];

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => api.operations.me({ signal }),
  staleTime: 60_000,
  // Whoever comes back to the page may find that their key was revoked meanwhile.
  refetchOnWindowFocus: 'always',
});

export function useMe(): Me | undefined {
  return useQuery(meQuery).data;
}

/** Whether the caller may do what needs a scope; undefined until that is known. */
export function useMay(scope: Scope | undefined): boolean | undefined {
  const me = useMe();
  if (scope === undefined) return true;
  return me?.scopes.includes(scope);
}
