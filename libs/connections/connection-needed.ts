// Thrown where a call cannot reach its tool server because the caller has not signed in there, or not with the scopes that it takes.
import { AppError } from '#libs/schemas/errors.js';

export class ConnectionNeeded extends AppError {
  constructor(
    readonly server: string,
    readonly scopes: readonly string[] = [],
  ) {
    super('connection_needed', `The tool server '${server}' needs a sign-in of the caller`);
  }
}
