// The policy in force.
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/api.js';

export const usePolicy = () =>
  useQuery({ queryKey: ['policy'], queryFn: ({ signal }) => api.operations.policy.show({ signal }) });
