export const consoleWorkRequirements = {
  'console.approvals':
    'whoever may decide finds in Approvals what waits and why, and decides by card, by key or by link',
  'console.models':
    'Models shows how providers and aliases do, what models cost, and asks one of them by a test prompt',
  'console.always-allow':
    'from an approval, an administrator drafts the rule that would have allowed the call, and sees what else it covers',
  'console.policy-view':
    'Policy shows administrators the rules with their hits, explains calls, and tries drafts; other keys have their own calls explained',
  'console.audit':
    'Audit finds rows by every filter of the API, shows one whole, verifies with progress, exports, and checks proofs without the gateway',
  'console.connections':
    'connections are made, replaced and ended on the page; a sign-in in another tab is shown by itself, and no secret stays',
  'console.sign-ins':
    'a call that waits for a sign-in says so in Chat, Approvals, Run, Home and Tools, leads its own principal there, and goes on by itself',
  'console.sessions':
    'files of a session are seen, sent, fetched and deleted in Sessions, whatever their names and contents',
  'console.settings':
    'Settings shows the settings in force and their origin, searched and filtered, with warnings, health and versions',
  'console.tools':
    'Tools shows what may be called, calls it, and shows administrators its servers and changed definitions',
  'console.offers':
    'Tools shows the resources and prompts of tool servers, reads one, fills in the other, and shows what servers send without harm',
} as const;
