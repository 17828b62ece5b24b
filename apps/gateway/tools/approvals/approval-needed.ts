// Thrown where a call waits for a person and its caller does not: it comes back with the decision, or after it.
import type { Approval } from '#libs/approvals/approval.js';

export class ApprovalNeeded extends Error {
  constructor(readonly approval: Approval) {
    super(`the call of '${approval.name}' needs an approval`);
  }
}
