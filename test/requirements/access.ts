export const accessRequirements = {
  'access.database-away': 'with the database away known keys go on for a minute, and unknown ones are 503, not 401',
  'access.every-route': 'with keys in use every route but health needs one with the scope of the route',
  'access.first-key': 'the first key that is made takes effect within a second, and the gateway never opens again',
  'access.globs': 'a key sees only the models and tools that it allows',
  'access.key-stored-as-hash': 'a key is shown once; the database holds its SHA-256 and a prefix',
  'access.manage-keys': 'keys are made, listed, rotated and revoked by npm run keys and by /api/keys',
  'access.principals': "sessions of equal names are apart for two owners, and another's ids do not exist",
  'access.revocation': 'a revoked key stops working on every gateway within a second',
  'access.roles': 'rules of the tool policy apply to the roles of a key',
  'access.rotation': 'a rotated key keeps its owner, and the old one works for the grace time',
  'access.wrong-keys': 'after 120 wrong keys a minute an address is refused with 429, and failures are audited',
} as const;
