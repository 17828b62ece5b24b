// Thrown when a call waits for a person but the caller does not: the caller comes back with the decision, or after it. An error
// that nobody catches tells the caller in its message how to approve, or where to sign in.
import { type Wait, whyAsked } from '#libs/waits/wait.js';
import { AppError } from '#libs/schemas/errors.js';

export class ApprovalNeeded extends AppError {
  constructor(readonly approval: Wait) {
    const isSignIn = approval.kind === 'sign_in';
    super(
      isSignIn ? 'connection_needed' : 'approval_required',
      isSignIn ? howToSignIn(approval) : howToApprove(approval),
    );
  }
}

function howToApprove(approval: Wait): string {
  const { id, name } = approval;
  const why = whyAsked(approval);
  return (
    `The call of '${name}' needs an approval: give it with POST /api/approvals/${id} {"decision": "approve"}; ` +
    `then repeat the same call${why === undefined ? '' : `. ${why}`}`
  );
}

const howToSignIn = ({ name, server, authorizationUrl }: Wait): string =>
  `The call of '${name}' needs your sign-in at the tool server '${server}': open ${authorizationUrl}; then repeat the same call`;
