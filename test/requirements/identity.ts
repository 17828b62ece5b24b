export const identityRequirements = {
  'identity.keys':
    'the keys of statements about callers are shared by all gateways and workers, published before they sign, and replaced',
  'identity.kept-apart': 'no statement about one principal is sent on a connection of another, whatever runs at once',
  'identity.nowhere-else': 'statements about callers are in no job, log or audit row, though their server repeats them',
  'identity.statements':
    'each request to a server with identity: jwt carries a signed statement about its caller, for this server and a minute',
} as const;
