// How a tool server over HTTP knows whose rights a call has: who signs in there, or whose secret it gets.
import { z } from 'zod';
import { choice, flag, httpUrl, secret, text, texts } from '../setting-kinds.js';

export const authKinds = ['oauth', 'client_credentials', 'token_exchange', 'headers'] as const;

/** Which members a kind has is checked in `auth-problem.ts`. */
export const authSchema = z.strictObject({
  kind: choice(
    authKinds,
    'Whose rights calls have: oauth: each user signs in; client_credentials: the gateway itself; token_exchange: each user, by a token of the issuer in auth.jwt; headers: each user gives secrets of their own',
  ),
  scopes: texts('Scopes to ask for; default: those that the server names').optional(),
  client_id: text('Client at the issuer; default for oauth: a metadata document, else registration').optional(),
  client_secret: secret.optional().describe('Its secret'),
  issuer: httpUrl('Issuer of the tokens; default: the first that the server names').optional(),
  audience: text(
    'Whom exchanged tokens are for, as the issuer in auth.jwt names it; default: only the address of the server',
  ).optional(),
  id_jag: flag(
    "Exchange for an ID-JAG, which the server's own issuer takes for a token (enterprise-managed authorization)",
  ).optional(),
  server_client_id: text("Client at the server's own issuer, for id_jag").optional(),
  server_client_secret: secret.optional().describe('Its secret'),
  names: texts('Headers with the secrets of each user').optional(),
});

export type ServerAuth = z.output<typeof authSchema>;
