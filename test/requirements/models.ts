export const modelRequirements = {
  'offline.answers-from-results': 'The offline model answers from tool results, also in a follow-up without tools',
  'offline.any-schema':
    'Whatever the tools and the text, the offline model calls with arguments that satisfy the schema, or not',
  'offline.bounds': 'The offline model keeps to max_tokens and stop; a call cut by them never ends',
  'offline.chains': 'The offline model goes on with what an earlier call got and stops when all is done',
  'offline.failure': 'The offline model says what failed and why, and does not try the same again',
  'offline.first-round':
    'The offline model finds the tool and the arguments for a request in Chinese or English, or calls none',
  'offline.stream': 'The offline model streams the same events for the same messages and heeds the signal',
  'offline.structured': 'The offline model answers in the JSON that response_format asks for',
  'offline.time': 'The offline model answers in bounded time, however long the text and however many the tools',
  'offline.tool-choice': 'The offline model heeds tool_choice and parallel_tool_calls',
} as const;
