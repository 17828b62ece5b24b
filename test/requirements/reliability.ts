export const reliabilityRequirements = {
  'audit.clamped': 'arguments and results of any size take a bounded place in the audit',
  'audit.no-secret': 'no secret that stands in arguments or results reaches the audit',
  'migrations.applied-once': 'several processes that start at once apply each migration once',
  'migrations.drift-refused': 'a migration that was changed after it was applied stops the start and is named',
  'migrations.prisma-ledger': 'applied migrations stand in Prisma’s own ledger',
  'store.away-answers-in-time':
    'a store that is refused, silent, slow or closed answers store_unavailable within its deadline',
  'store.group-commit': 'concurrent writes share statements and commits',
  'store.group-commit-bounded': 'a write that finds no room or no time is refused, not kept',
  'store.group-commit-isolates': 'a bad row fails alone, not those that share its statement',
} as const;
