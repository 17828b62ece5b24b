export const questionRequirements = {
  'questions.reads':
    'what a tool server asks while a resource is read or a prompt is used goes to the MCP client that asked for it, in both eras; where nobody can be asked, the error says so',
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
  'questions.abandoned':
    'a call whose asker never comes back with an answer holds up no other call of its session, also one that asks; the audit says how it ended',
  'questions.expired': 'a question that nobody answers in time is cancelled, and its call goes on',
  'questions.gateway-died': 'a call that waits for an answer goes on without the gateway that began it',
  'questions.word-lost':
    'a gateway that missed the message about a question finds the question before it gives up the call',
  'questions.worker-died':
    'a call whose worker dies while it asks ends as any other, and nobody can answer it any more',
  'sampling.answered':
    'what an allowed tool server asks a model is answered by the gateway that has the call, in both eras and over every transport; counted, audited and shown to nobody',
  'sampling.models':
    'hints choose among the models that the server’s settings and the caller’s key allow; where none is allowed no model is asked',
  'sampling.refused':
    'a tool server that may not ask models, or gets no answer, learns that, and never the upstream’s words',
  'sampling.bounded': 'what a call asks models is bounded in number, size, kind and tokens',
  'sampling.held': 'the time of a tool stands still while a model works for it',
  'sampling.cancelled': 'a call that ends takes what it asked a model along, up to the upstream',
  'sampling.gateway-died': 'a tool whose gateway dies while a model works learns that no model answers, and goes on',
} as const;
