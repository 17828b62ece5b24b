// Descriptions of the routes of connections to tool servers.
import { z } from 'zod';
import { authKinds } from '#libs/config/schemas/auth-schema.js';
import { shownStates } from '#libs/connections/describe-connection.js';
import { type DescribedOperation, json, nothing } from '../openapi/described-operation.js';
import { named } from '../openapi/open-api-shapes.js';

const text = z.string();

export const connection = named('Connection', {
  server: text,
  kind: z.enum(authKinds),
  state: z
    .enum(shownStates)
    .describe(
      '`needed`: there is none; `expired`: its tokens were refused or have ended; `error`: the key that sealed it is not configured',
    ),
  scopes: z.array(text),
  connected_at: text.nullable(),
  expires_at: text.optional().describe('When it ends; absent if it is renewed'),
  account: text.optional().describe('As the issuer names the user'),
  wanted_scopes: z.array(text).optional().describe('What the server has asked for in addition'),
  names: z.array(text).optional().describe('Of `headers`: the headers that need a value'),
});
export const begunSignIn = named('BegunSignIn', {
  authorization_url: text.describe('What the user opens in a browser'),
  expires_at: text,
});

export const connectionOperations: Readonly<Record<string, DescribedOperation>> = {
  'GET /api/connections': {
    summary: "The tool servers that the caller connects to, with the caller's connections (docs/connections.md)",
    answers: { 200: json(z.object({ data: z.array(connection) })) },
  },
  'POST /api/connections/{server}': {
    summary: 'Begins a sign-in at a tool server; or takes the secrets of a server of kind `headers`',
    body: z.object({
      return_to: text.optional().describe('Path of the console, or address of an allowed origin, for the way back'),
      headers: z.record(text, text).optional().describe('The values of `names`; no answer contains them'),
    }),
    bodyOptional: true,
    answers: { 200: json(z.union([begunSignIn, connection])) },
  },
  'DELETE /api/connections/{server}': {
    summary: "Ends the caller's connection, and revokes it at the issuer if the issuer can",
    answers: { 204: nothing },
  },
};
