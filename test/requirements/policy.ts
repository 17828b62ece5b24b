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
  'policy.explained': 'npm run policy explain names the rule that decides a call, and why each one before it does not',
  'policy.first-match': 'rules are tried in order and the first that matches decides',
  'policy.patterns-linear': 'no pattern of a rule takes more than linear time',
  'policy.problems-named':
    'what is wrong with rules is reported all at once, by the key of each, and nothing starts or changes',
  'policy.reload': 'changed rules are in force without a restart; a broken file changes nothing and is reported',
  'policy.requires-approval': 'tools.requires_approval of a server asks for an approval, after the rules of the policy',
  'policy.simulated':
    'npm run policy simulate lists which past calls a draft would treat otherwise, and which cannot be judged and why',
} as const;
