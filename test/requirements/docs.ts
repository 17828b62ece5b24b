export const docsRequirements = {
  'docs.code': 'every example in TypeScript compiles in strict mode, and every one in JavaScript can be parsed',
  'docs.getting-started':
    'every command of the pages for newcomers works as written, with what the page says comes back',
  'docs.python-examples': 'the examples in Python run against a gateway that was just started',
} as const;
