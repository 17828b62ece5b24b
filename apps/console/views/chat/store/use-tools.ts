// The tools that a chat may offer its model.
import type { Tool } from '@signalbox/client';
import { useMemo } from 'react';
import { useTools } from '../../../api/tools.js';

export function useOfferableTools(): { tools: readonly Tool[] | undefined; error: unknown } {
  const { tools, error } = useTools();
  const offerable = useMemo(() => tools?.filter((tool) => tool.app?.for_models !== false), [tools]);
  return { tools: offerable, error };
}
