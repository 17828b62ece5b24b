// The tools that the caller may use.
import type { Tool } from '@signalbox/client';
import { useQuery } from '@tanstack/react-query';
import { api } from './api.js';
import { useMay } from './me.js';

export function useTools(): { tools: readonly Tool[] | undefined; error: unknown } {
  const may = useMay('tools') ?? false;
  const { data, error } = useQuery({
    queryKey: ['tools'],
    queryFn: ({ signal }) => api.tools.list({ signal }),
    enabled: may,
    staleTime: 60_000,
  });
  return { tools: may ? data : [], error };
}
