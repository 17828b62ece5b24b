export const auditRequirements = {
  'audit.canaries':
    'secrets of the configuration, of callers’ headers and of arguments are in no audit row, export, log or answer to a failure',
  'audit.policy-changes':
    'each gateway puts the policy that it follows, and each other one that replaces it, into the audit',
  'audit.chained': 'every row of the audit has its place in a chain and the hashes of itself and of the row before it',
  'audit.tampering-noticed':
    'gateways look at the latest rows of the audit themselves, and a metric says what they found',
  'audit.tampering-named':
    'a row that was changed, removed, inserted, exchanged or cut off by SQL is named, as are checkpoints that are not as they were',
  'audit.signed-checkpoints': 'with a key, chains that were written anew as a whole do not pass either',
  'audit.proof':
    'one row is proved by a file, which is checked without the gateway and tells nothing of other rows; a change of it or of the chain is seen',
  'audit.verified-by-api':
    'the audit is verified by HTTP, one at a time, with progress, while chats go on; closing the connection ends it',
  'audit.append-only-role':
    'the role of gateways and workers can add rows to the audit, and neither change nor remove them, nor its partitions',
  'audit.reader-role': 'a second role reads the audit and nothing else',
  'audit.many-writers':
    'rows of many writers, of transactions that fail and of clocks that are set back leave the chains whole',
  'audit.converted': 'rows from before the chains are kept, and chained',
  'audit.pages': 'the audit is read by time, session, principal, tool, outcome and text, newest first, each row once',
  'audit.bounded-reading':
    'a page of the audit looks at a bounded number of rows, and finds sessions, tools and times by an index',
  'audit.export': 'the audit is streamed as NDJSON or CSV, in bounded memory, and never looks complete when it is not',
  'audit.csv-safe': 'no cell of an exported CSV file is a formula',
  'audit.for-administrators': 'the audit is read with the scope admin, and on the same machine while there are no keys',
  'audit.retention': 'months whose time is over go as a whole, and what is left still verifies',
} as const;
