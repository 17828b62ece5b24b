export const docsRequirements = {
  'docs.code': 'every example in TypeScript compiles in strict mode, and every one in JavaScript can be parsed',
  'docs.pages':
    'every block of the README and the pages works as written on what `npm start` starts without settings, or with those that the page sets, prints what the page says, and leaves `git status` of the checkout empty',
  'docs.scoreboard': 'the scoreboard has what its commands printed, with their commit and date, and nothing else',
  'docs.python-examples': 'the examples in Python run against a gateway that was just started',
} as const;
