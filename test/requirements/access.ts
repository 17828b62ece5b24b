export const accessRequirements = {
  'access.call-tokens':
    'a call token opens chats without server tools as the caller of its call, for its time, and nothing else',
  'access.database-away': 'with the database away known keys go on for a minute, and unknown ones are 503, not 401',
  'access.every-route': 'with keys in use every route but health needs one with the scope of the route',
  'access.first-key':
    'the first key that is made takes effect on all gateways, which are told of it, and they never open again',
  'access.forbidden-audited': 'a call of a tool that a key does not allow is 403 and has its row in the audit',
  'access.globs': 'a key sees only the models and tools that it allows',
  'access.issuer-away': 'with the issuer away known keys go on, and tokens that need another are 503, not 401',
  'access.key-stored-as-hash': 'a key is shown once; the database holds its SHA-256 and a prefix',
  'access.list-keys':
    'keys are found by state, owner, scope and text, page by page, with what is spent of their budgets',
  'access.manage-keys': 'keys are made, listed, rotated and revoked by npm run keys and by /api/keys',
  'access.principals': "sessions of equal names are apart for two owners, and another's ids do not exist",
  'access.revocation': 'a revoked key stops working on every gateway within a second',
  'access.roles': 'rules of the tool policy apply to the roles of a key',
  'access.rotation': 'a rotated key keeps its owner, and the old one works for the grace time',
  'access.token-claims': 'roles and scopes of a token come from its claims; the scope admin only as configured',
  'access.token-keys': "an issuer's new key is taken at once, and invented key ids do not reach it",
  'access.token-person': "a token about somebody opens what that owner's keys made, and nothing of others",
  'access.token-refused': 'a token of another audience, issuer, time, algorithm or key is refused',
  'access.token-resource-set':
    'a token that the issuer has bound to the address of one toolset is accepted there and nowhere else',
  'access.token-resource': "a token that the issuer has bound to this gateway's own address is accepted",
  'access.wrong-keys':
    'after 120 wrong keys a minute, on all gateways, an address is refused with 429; failures are audited, right keys go on',
} as const;
