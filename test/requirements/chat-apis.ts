export const chatApisRequirements = {
  'apis.errors': 'every chat API returns its errors in the shape of its standard, and names the field at fault',
  'apis.examples': 'the examples of docs/chat-apis.md work as written',
  'apis.count-tokens': 'the official SDKs count tokens through a gateway, and are told where a model counts none',
  'apis.messages.cut': 'on /v1/messages an upstream that is cut makes the official SDK throw',
  'apis.messages.events': 'on /v1/messages a stream is one message of whole blocks, one after the other',
  'apis.messages.faults': 'on /v1/messages one fault is named by its field',
  'apis.messages.own-content':
    'on /v1/messages blocks that only Anthropic knows are sent to it as they came, and sent to others as text',
  'apis.messages.own-tools':
    'on /v1/messages Anthropic’s own tools are sent to it as they came; others get those that the caller runs as functions',
  'apis.messages.read': 'on /v1/messages a request is read as Anthropic reads it',
  'apis.messages.sdk': 'the official Anthropic SDK reads every answer and runs its tool loop, streamed and not',
  'apis.responses.codex':
    'on /v1/responses requests of Codex are served: tools of free text and of namespaces, in `tools` and in the input, and their calls and results',
  'apis.responses.cut': 'on /v1/responses an upstream that is cut makes the official SDK throw',
  'apis.responses.events': 'on /v1/responses a stream is typed, numbered events that come to its last one',
  'apis.responses.faults': 'on /v1/responses one fault is named by its field',
  'apis.responses.read': 'on /v1/responses a request is read as OpenAI reads it',
  'apis.responses.references':
    'on /v1/responses a reference stands for an item of a stored response of the same caller, as the AI SDK sends them',
  'apis.responses.sdk': 'the official OpenAI SDK reads every response, streamed and not',
  'apis.responses.retrieval':
    'the official OpenAI SDK lists the input of a stored response, streams it again and cancels it',
  'apis.responses.stored': 'a stored response can be gone on with, returned again and deleted, by its caller only',
  'apis.runs': 'on every chat API the same Idempotency-Key and body is one run with one answer',
} as const;
