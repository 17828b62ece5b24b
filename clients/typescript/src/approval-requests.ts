// Approvals of a turn that was not held: it ended with calls of `approval_request`, which messages answer.
import type { Decision } from './api-types.js';
import type { ApprovalRequest, ChatCompletion, Message } from './chat-types.js';

/** The decisions that the turn waits for; often none. */
export function approvalRequests({ choices }: ChatCompletion): ApprovalRequest[] {
  const calls = choices.flatMap(({ message }) => message.tool_calls ?? []);
  return calls
    .filter((call) => call.function.name === 'approval_request')
    .map((call) => ({
      ...(JSON.parse(call.function.arguments) as Omit<ApprovalRequest, 'tool_call_id'>),
      tool_call_id: call.id,
    }));
}

/** The message that answers a request; it follows the assistant's message in the next request. */
export function decisionMessage(request: Pick<ApprovalRequest, 'tool_call_id'>, decision: Decision): Message {
  return { role: 'tool', tool_call_id: request.tool_call_id, content: JSON.stringify(decision) };
}
