export const clientRequirements = {
  'client.abort': 'a reader of the client library that leaves ends its turn, whenever it leaves',
  'client.approvals': 'the client library decides approvals of held streams, returned calls and single tool calls',
  'client.browser': 'the client library needs nothing but fetch, and pages of allowed origins may use it',
  'client.files': 'the client library creates, lists and deletes sessions and their files, whatever their names',
  'client.gives-up': 'the client library tries again a limited number of times, and only what is safe to repeat',
  'client.idle': 'the client library replaces a connection that shows no sign of life',
  'client.openai-types':
    'the types of the OpenAI SDK learn from the client library what Signalbox adds, in ES modules and in CommonJS',
  'client.readme': 'the examples of the client library’s README compile and do what they say',
  'client.resume': 'a stream of the client library that breaks off continues without loss and without repetition',
  'client.tools': 'the client library lists and calls tools, and its errors name code, status and request',
  'client.types': 'the types of the client library are those of the gateway',
} as const;
