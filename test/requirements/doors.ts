export const doorsRequirements = {
  'doors.errors': 'every door tells its errors in the shape of its standard, and names the field at fault',
  'doors.examples': 'the examples of docs/doors.md work as written',
  'doors.messages.cut': 'on /v1/messages an upstream that is cut makes the official SDK throw',
  'doors.messages.events': 'on /v1/messages a stream is one message of whole blocks, one after the other',
  'doors.messages.faults': 'on /v1/messages one fault is named by its field',
  'doors.messages.read': 'on /v1/messages a request is read as Anthropic reads it',
  'doors.messages.sdk': 'the official Anthropic SDK reads every answer and runs its tool loop, streamed and not',
} as const;
