export const operationsRequirements = {
  'schemas.usage-sums': 'usage of two rounds is summed member by member, details included',
} as const;
