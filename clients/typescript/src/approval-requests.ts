// Approvals and sign-ins of a turn that was not held: it ended with calls of reserved functions, which messages answer.
import type { Decision } from './api-types.js';
import type { ApprovalRequest, ChatCompletion, Message, SignInRequest } from './chat-types.js';

/** The decisions that the turn waits for; often none. */
export function approvalRequests(answer: ChatCompletion): ApprovalRequest[] {
  return requestsOf(answer, 'approval_request');
}

/** The sign-ins that the turn waits for, each at the `authorization_url` of a tool server; often none. */
export function signInRequests(answer: ChatCompletion): SignInRequest[] {
  return requestsOf(answer, 'sign_in_request');
}

function requestsOf<Asked>({ choices }: ChatCompletion, name: string): Asked[] {
  const calls = choices.flatMap(({ message }) => message.tool_calls ?? []);
  return calls
    .filter((call) => call.function.name === name)
    .map((call) => ({ ...(JSON.parse(call.function.arguments) as object), tool_call_id: call.id }) as Asked);
}

/** The message that answers a request; it follows the assistant's message in the next request. After a sign-in: `done`. */
export function decisionMessage(
  request: Pick<ApprovalRequest, 'tool_call_id'>,
  decision: Decision | { decision: 'done' },
): Message {
  return { role: 'tool', tool_call_id: request.tool_call_id, content: JSON.stringify(decision) };
}
