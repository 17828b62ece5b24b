export const consoleWorkRequirements = {
  'console.approvals':
    'whoever may decide finds in Approvals what waits and why, and decides by card, by key or by link',
  'console.sessions':
    'files of a session are seen, sent, fetched and deleted in Sessions, whatever their names and contents',
  'console.tools':
    'Tools shows what may be called, calls it, and shows administrators its servers and changed definitions',
} as const;
