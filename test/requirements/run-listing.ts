export const runListingRequirements = {
  'overview.figures': 'the overview counts what SQL counts: of everybody for administrators, else of the caller',
  'overview.problems': 'the overview names what is wrong, as a code with facts',
  'overview.me': 'anybody learns how to sign in, and who shows a key what it may do',
  'overview.workers': 'administrators see the workers, also one that stopped without saying so',
  'overview.traffic': 'turns, their 95th percentile, tool calls, failures and cost are counted by the hour, once',
  'runs.bounded-listing': 'every page of runs reads a bounded number of rows, whatever it is filtered by',
  'runs.details': 'a run shows its rounds, its calls and its events, also when the events are not stored any more',
  'runs.traces': 'the calls of a run name the trace of their request, and lead to it where an address is set',
  'runs.listed': 'runs are listed by each of what they are filtered by, newest first, each once',
  'runs.of-others': "another principal's runs do not exist, except for administrators",
  'runs.retention': 'a run that has ended is deleted after runs.retention_days',
  'runs.spent-time': 'the time of a run is split into model, queue, tool and person, and no more than the run took',
  'sessions.of-others': 'administrators list the sessions of all owners, page by page; others only their own',
  'tools.shown':
    'tools are listed with what they cost, what the policy says, and how often they were called and failed',
  'tools.servers-shown':
    'tool servers are listed with what keeps them in bounds, their instances, and their last words',
} as const;
