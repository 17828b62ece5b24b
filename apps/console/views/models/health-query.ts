// The report about models, which several parts of the view share.
import { queryOptions } from '@tanstack/react-query';
import { api } from '../../api/api.js';

const lookEveryMs = 15_000;

export const healthQuery = queryOptions({
  queryKey: ['models', 'health'],
  queryFn: ({ signal }) => api.operations.modelsHealth({ signal }),
  // Only while the tab is visible.
  refetchInterval: lookEveryMs,
});
