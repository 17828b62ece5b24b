// Thrown when a call waits for a person but the caller does not: the caller comes back with the decision, or after it. An error
// that nobody catches tells the caller in its message how to approve.
import { type Wait, whyAsked } from '#libs/waits/wait.js';
import { AppError } from '#libs/schemas/errors.js';

export class ApprovalNeeded extends AppError {
  constructor(readonly approval: Wait) {
    const { id, name } = approval;
    const why = whyAsked(approval);
    super(
      'approval_required',
      `The call of '${name}' needs an approval: give it with POST /api/approvals/${id} {"decision": "approve"}; ` +
        `then repeat the same call${why === undefined ? '' : `. ${why}`}`,
    );
  }
}
