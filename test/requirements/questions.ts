export const questionRequirements = {
  'questions.held':
    'what a tool server asks is shown on a held stream with its schema, and answered on any gateway; the call’s own time stands still meanwhile',
  'questions.answers':
    'an answer is accepted with content that fits what was asked for, or declined; the audit says who answered',
  'questions.bounded':
    'the questions of a call are flat, of bounded size and number, and never shown to another session',
  'questions.left': 'a question whose call ends is cancelled with it',
  'questions.returned':
    'a caller that is not held gets one call of approval_request for each question, and comes back for the next one or the outcome',
  'questions.tools-api':
    'a call of the tools API whose server asks something answers 202; the same key has its outcome once it is answered',
  'questions.mcp':
    'what a tool server asks reaches the MCP client that made the call, if it can be asked, and its answer reaches the server',
  'questions.expired': 'a question that nobody answers in time is cancelled, and its call goes on',
  'questions.gateway-died': 'a call that waits for an answer goes on without the gateway that began it',
  'questions.word-lost': 'a gateway that was not told of a question finds it, before it gives the call up',
  'questions.worker-died':
    'a call whose worker dies while it asks ends as any other, and nobody can answer it any more',
} as const;
