// The issuer sends the user back without a code.
import { AppError } from '#libs/schemas/errors.js';

export class SignInRefused extends AppError {
  /** As the issuer names it, if that is a name: `access_denied`. */
  readonly reason: string;

  constructor(error: string | undefined) {
    const reason = error !== undefined && /^[a-z_]{1,60}$/.test(error) ? error : 'no code';
    super('invalid_value', `The issuer did not sign in: ${reason}`, { param: 'error' });
    this.reason = reason;
  }
}
