export const limitsRequirements = {
  'limits.rates-exact': 'a key is served exactly its requests a minute, by however many gateways, whoever else asks',
  'limits.rates-reported': 'above a rate the answer is 429 with Retry-After and x-ratelimit headers, in every API',
  'limits.rates-tokens': 'a key that has used its tokens of the minute is refused until they leave it',
  'limits.rates-away': 'without the shared counters each gateway limits for itself, and serves',
  'limits.rates-free': 'without keys nobody has rates unless they are configured',
  'limits.calls-shared':
    'the calls at once of a session and of a principal are counted on all gateways together, and no gateway waits for ever',
  'limits.server-calls-shared':
    'the calls at once of a server that all workers reach by its URL are counted on all of them',
  'limits.calls-alone': 'a gateway that is alone, or without the shared counters, counts its calls at once by itself',
  'limits.waiting-approvals':
    'a caller has at most limits.waiting_approvals calls that wait for an approval, on all gateways',
  'limits.reached': 'what is above a limit is refused with its code, and counted',
  'limits.budget-refuses': 'a turn or call that begins with the budget used up is 429 budget_exceeded',
  'limits.budget-ends':
    'a budget that ends in the middle of a turn ends it with an answer, and stopped_by, a warning and the refused call say so',
  'limits.budget-overshoot': 'turns at once, on all gateways, overshoot a budget by no more than what is under way',
  'limits.budget-away': 'with the database away a known budget goes on for a minute, an unknown one is 503',
  'limits.budget-forecast':
    'budgets are listed with what is spent and where the day or month will end at its rate so far: administrators see everybody’s, others their own',
  'limits.budget-rotated': 'a key that replaces another goes on with what that has spent',
  'limits.prices': 'the price of the configuration comes before the table, the longest name before a shorter one',
  'limits.usage-report': 'usage is shown by key, model, tool and day: administrators see everybody’s, others their own',
  'limits.usage-csv': 'usage is exported as CSV, in which no text is a formula for a spreadsheet',
  'limits.usage-unpriced': 'tokens of a model without a price are counted as such, not as free',
  'limits.usage-kept': 'usage is removed after usage.retention_days',
  'limits.usage-right':
    'each model call is counted once, with fallbacks, failures, killed gateways and continued turns',
} as const;
