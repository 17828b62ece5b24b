export const connectionRequirements = {
  'connections.apart': 'no two users share an instance of a server whose calls have the rights of their user',
  'connections.api': 'callers list, begin and end their own connections with servers that their key may use',
  'connections.bound': 'a sign-in works once, for ten minutes and for whom it was begun',
  'connections.browser-bound':
    'a sign-in that another browser opens or completes shows who will be connected to what, and takes a click',
  'connections.client':
    'the client at an issuer is the configured one, else a metadata document, else a registered one',
  'connections.exchange-refused':
    'a call without a token that its issuer exchanges is told why, and does not wait for a person',
  'connections.exchanged-again':
    'a tool server that refuses an exchanged token, or asks for more scopes, gets another one within the same call',
  'connections.exchange-reload':
    'tokens are exchanged for servers that a changed configuration adds, without a restart',
  'connections.exchanged':
    "a caller's token is exchanged once for one of a tool server, which ends with it, for nobody else",
  'connections.guarded': 'addresses that a server or its issuer names are not reached if they are private elsewhere',
  'connections.headers': 'each user gives secrets of their own for headers of a server',
  'connections.issuer-checked': 'an answer of another issuer than the one that the sign-in was begun at is refused',
  'connections.listed':
    'tools are listed without a token, else with that of somebody who has connected; else their server needs a sign-in',
  'connections.listed-apart':
    'resources that a server lists with the rights of a user are listed to that user only; others read theirs by their URI',
  'connections.needed':
    'a call without a connection, with a refused one or with too few scopes is told what is missing, and runs nothing',
  'connections.odd-answers':
    'what an issuer writes in an odd way is read as far as it can be, and a token that no call could send connects nobody',
  'connections.open-flows': 'a principal has at most twenty sign-ins open',
  'connections.own-client': "the gateway's own client gets a token for all users of a server",
  'connections.pages': 'pages of a sign-in have no script, and say nothing that somebody else has written',
  'connections.pkce': 'an issuer without PKCE with S256 is refused',
  'connections.refresh-once': 'of many calls at once over processes, one renews the token at the issuer',
  'connections.refused': 'a sign-in that an issuer refuses changes nothing, is explained and audited',
  'connections.refused-refresh': 'a refused refresh ends the connection, and an issuer that is away does not',
  'connections.reload':
    'a gateway follows its configuration: users connect to servers that were added, and no more to those taken out',
  'connections.return-to': 'a sign-in leads back to the console or to an allowed origin, and nowhere else',
  'connections.revoked': 'a connection that is removed is revoked at the issuer',
  'connections.unused':
    'connections with a server that is configured no more are ended by their users, or after the time that runs are kept',
  'connections.sealed':
    'tokens are sealed with AES-256-GCM for one principal, server and issuer; keys are replaced one by one',
  'connections.secret': 'a token is in no log, error and row of the database',
  'connections.settings':
    'auth of a server is checked at the start, and without a key of the vault it says how to make one',
} as const;
