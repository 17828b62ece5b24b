// Thrown where a call cannot reach its tool server because the caller has not signed in there, or not with the scopes that it takes.
import { AppError } from '#libs/schemas/errors.js';
import type { ConnectedServer } from './issuer.js';

export class ConnectionNeeded extends AppError {
  constructor(
    readonly server: string,
    readonly scopes: readonly string[] = [],
    /** Whether waiting helps. */
    readonly canSignIn = true,
  ) {
    const what = canSignIn
      ? 'a sign-in of the caller'
      : 'a token of the issuer that users sign in at: send the request with one that it accepts';
    super('connection_needed', `The tool server '${server}' needs ${what}`);
  }
}

/** Nobody signs in at a server for which the gateway exchanges tokens. */
export const neededAt = ({ name, auth }: ConnectedServer, scopes?: readonly string[]): ConnectionNeeded =>
  new ConnectionNeeded(name, scopes, auth.kind !== 'token_exchange');
