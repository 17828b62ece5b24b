export const chimechRequirements = {
  'chimech.acts-for-caller':
    'Chimech in the worker, or marked in the configuration, asks models as the caller of its call: with that key, its models, budget and usage',
  'chimech.analyze-and-search': 'Chimech analyses code and searches imported documents for clients of SDK 1.x and 2.x',
  'chimech.authorize': 'authorize of Chimech runs before each handler and may be replaced',
  'chimech.bad-arguments':
    'damaged, empty, huge and wrongly encoded arguments of each tool are reported as what they are, in Chinese or English',
  'chimech.clients': 'clients of SDK 1.x and 2.x list and call the tools of Chimech over HTTP and over stdio',
  'chimech.conversation': 'turns of a session, or of a named conversation of one caller, are remembered, bounded',
  'chimech.embeddings': 'the client of the gateway that tools are given asks for embeddings too',
  'chimech.errors': 'an error says what failed, why and what to do, in the language of the input, with its code',
  'chimech.gateway-errors':
    'what the gateway fails with becomes its own code: its limit with the wait, its time, the rest',
  'chimech.generate-checked': 'what was generated is checked against the form that was asked for and repaired once',
  'chimech.generate-templates':
    'templates are Markdown files: generate uses them by name, clients list them as prompts',
  'chimech.key-rotation': 'keys that are older than they should be are warned of, in the log and in a metric',
  'chimech.keys': 'callers over HTTP show one of the keys; without keys it serves loopback only',
  'chimech.metadata': 'metadata stands in the structured content and at the top level, with time and tokens',
  'chimech.metrics': 'calls, durations, own time and tokens of Chimech are counted by tool, outcome and code',
  'chimech.query': 'query asks a model of the gateway, and says how sure that was where it says so',
  'chimech.rate-limit': 'calls of one key beyond MAX_REQUESTS_PER_MINUTE are refused with the wait',
  'chimech.started-with-all': 'npm start serves the tools of Chimech in its worker, with the models of its gateway',
} as const;
