// Who uses the page, and what they may do.
import { queryOptions, useQuery } from '@tanstack/react-query';
import { api } from './api.js';
import { type Me, SignalboxError } from '@signalbox/client';

export type Scope = Me['scopes'][number];

/** A gateway without this route is taken for an open one. */
async function askMe({ signal }: { signal: AbortSignal }): Promise<Me> {
  try {
    return await api.me({ signal });
  } catch (error) {
    if (!(error instanceof SignalboxError) || error.status !== 404) throw error;
    const everything: Scope[] = ['chat', 'tools', 'files', 'admin'];
    const open = { open: true, keys: false };
    return { signed_in: 'open', principal: 'local', key: null, scopes: everything, sign_in: open };
  }
}

export const meQuery = queryOptions({ queryKey: ['me'], queryFn: askMe, staleTime: 60_000 });

export function useMe(): Me | undefined {
  return useQuery(meQuery).data;
}

/** Whether the caller may do what needs a scope; undefined until that is known. */
export function useMay(scope: Scope | undefined): boolean | undefined {
  const me = useMe();
  if (scope === undefined) return true;
  return me?.scopes.includes(scope);
}
