export const policyRequirements = {
  'policy.arguments-safe-side':
    'a condition of a rule that allows holds only where there is no doubt, of one that denies already where there is any',
  'policy.arguments-typed': 'a condition compares like with like; an argument that is absent matches nothing',
  'policy.audited': 'the audit row of every call that the policy decided names the rule, allowed or not',
  'policy.default-allow': 'with policy.default allow, what no rule decides is allowed',
  'policy.default-by-origin':
    'what no rule decides depends on where the tool runs, and only trusted servers are believed, unless policy.default says otherwise',
  'policy.default-explained':
    'where no rule decides and an approval is asked for, the reason is given, and which rule would allow the call',
  'policy.denied-invisible':
    'a tool that is denied to a caller is offered to no model, listed nowhere, and refused when it is called all the same',
  'policy.draft-hostile':
    'a draft of the policy that is too large or too slow ends as an error of its own, while other requests are answered',
  'policy.draft-problems': 'what is wrong with a draft of the policy is named all at once, with line and column',
  'policy.explained-by-api':
    'the API explains a call by the policy: to administrators anybody’s, to others their own without the rules of others',
  'policy.explained': 'npm run policy explain names the rule that decides a call, and why each one before it does not',
  'policy.first-match': 'rules are tried in order and the first that matches decides',
  'policy.patterns-linear': 'no pattern of a rule takes more than linear time',
  'policy.problems-named':
    'what is wrong with rules is reported all at once, by the key of each, and nothing starts or changes',
  'policy.reload': 'changed rules are in force without a restart; a broken file changes nothing and is reported',
  'policy.requires-approval': 'tools.requires_approval of a server asks for an approval, after the rules of the policy',
  'policy.rights-unused': 'what keys and rules allow that no call used is listed, with the rule that takes it away',
  'policy.rule-drafted':
    'the narrowest rule that allows a call that waited can be drafted, and changes nothing by itself',
  'policy.shown':
    'administrators see the rules in force, where they are written, and how often each decided, as the audit has it',
  'policy.reads-counted':
    'rules of resources and prompts count the reads that they decided, and a draft is simulated over past reads too',
  'policy.simulation-ends': 'a simulation whose reader leaves stops reading the audit',
  'policy.simulation-fast': 'a draft is simulated over 100,000 calls in seconds, while chats are answered',
  'policy.simulated-by-api': 'the API simulates a draft of the policy as npm run policy simulate does',
  'policy.simulated':
    'npm run policy simulate lists which past calls a draft would treat otherwise, and which cannot be judged and why',
  'policy.resource-spellings':
    'a URI that a server has not listed is read only if the policy allows it in each way in which servers read it',
  'policy.resources': 'rules decide about resources and prompts as about tools; what would need an approval is denied',
} as const;
