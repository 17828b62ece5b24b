export const reliabilityRequirements = {
  'migrations.applied-once': 'several processes that start at once apply each migration once',
  'migrations.drift-refused': 'a migration that was changed after it was applied stops the start and is named',
  'migrations.prisma-ledger': 'applied migrations stand in Prisma’s own ledger',
  'store.away-answers-in-time': 'a store that is refused, silent, slow or closed answers store_unavailable within its deadline',
} as const;
