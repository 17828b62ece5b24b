export const doorsRequirements = {
  'doors.errors': 'every door tells its errors in the shape of its standard, and names the field at fault',
  'doors.examples': 'the examples of docs/chat-apis.md work as written',
  'doors.count-tokens': 'the official SDKs count tokens through a gateway, and are told where a model counts none',
  'doors.messages.cut': 'on /v1/messages an upstream that is cut makes the official SDK throw',
  'doors.messages.events': 'on /v1/messages a stream is one message of whole blocks, one after the other',
  'doors.messages.faults': 'on /v1/messages one fault is named by its field',
  'doors.messages.read': 'on /v1/messages a request is read as Anthropic reads it',
  'doors.messages.sdk': 'the official Anthropic SDK reads every answer and runs its tool loop, streamed and not',
  'doors.responses.cut': 'on /v1/responses an upstream that is cut makes the official SDK throw',
  'doors.responses.events': 'on /v1/responses a stream is typed, numbered events that come to its last one',
  'doors.responses.faults': 'on /v1/responses one fault is named by its field',
  'doors.responses.read': 'on /v1/responses a request is read as OpenAI reads it',
  'doors.responses.sdk': 'the official OpenAI SDK reads every response, streamed and not',
  'doors.responses.retrieval':
    'the official OpenAI SDK lists the input of a stored response, streams it again and cancels it',
  'doors.responses.stored': 'a stored response can be gone on with, told again and deleted, by its caller only',
  'doors.runs': 'on every door the same Idempotency-Key and body is one run with one answer',
} as const;
