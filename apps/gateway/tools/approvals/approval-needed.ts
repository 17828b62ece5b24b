// Thrown where a call waits for a person and its caller does not: it comes back with the decision, or after it. Where nobody
// makes more of it, its caller is told how to decide.
import type { Approval } from '#libs/approvals/approval.js';
import { AppError } from '#libs/schemas/errors.js';

export class ApprovalNeeded extends AppError {
  constructor(readonly approval: Approval) {
    const { id, name, reason } = approval;
    super(
      'tool_denied',
      `The call of '${name}' needs an approval${reason === null ? '' : ` (${reason})`}: it can be given with ` +
        `POST /api/approvals/${id} {"decision": "approve"}; then make the same call again`,
    );
  }
}
