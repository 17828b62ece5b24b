export const consoleWorkRequirements = {
  'console.approvals':
    'whoever may decide finds in Approvals what waits and why, and decides by card, by key or by link',
  'console.audit':
    'Audit finds rows by every filter of the API, shows one whole, verifies with progress, exports, and checks proofs without the gateway',
  'console.sessions':
    'files of a session are seen, sent, fetched and deleted in Sessions, whatever their names and contents',
  'console.tools':
    'Tools shows what may be called, calls it, and shows administrators its servers and changed definitions',
} as const;
