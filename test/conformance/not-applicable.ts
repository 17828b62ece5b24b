// What the suites ask for that Signalbox does not have, and why (docs/mcp.md says the same to users). Nothing else may fail.

/** Whole scenarios, by the beginning of their names. */
export const scenariosWithout: Record<string, string> = {
  resources: 'the gateway offers tools; it has no resources',
  prompts: 'the gateway offers tools; it has no prompts',
  'completion-complete': 'completes arguments of prompts and resources, which there are not',
  'logging-set-level': 'what tools log goes to the log of their server, not to the client',
  'tools-call-with-logging': 'what tools log goes to the log of their server, not to the client',
  'tools-call-sampling': 'tools ask no questions of the client',
  'tools-call-elicitation': 'the tools of this suite’s servers ask nothing',
  'elicitation-': 'the tools of this suite’s servers ask nothing, and people answer those of servers',
  'input-required-result-': 'the tools of this suite’s servers ask nothing',
  'sep-2322-': 'people answer the questions of servers',
  'tasks-': 'an extension that is not offered',
  'auth/': 'our client sends the headers that are configured; it logs in nowhere',
};

/** Single checks of scenarios that apply otherwise, by their ids. */
export const checksWithout: Record<string, string> = {
  'sep-2575-server-rejects-undeclared-capability': 'no tool needs something of the client',
  'sep-2575-missing-capability-http-400': 'no tool needs something of the client',
  'sep-2549-prompts-list-caching-hints': 'there are no prompts',
  'sep-2549-resources-list-caching-hints': 'there are no resources',
  'sep-2549-resources-templates-list-caching-hints': 'there are no resources',
};

/** The gateway asks whether a call may run. One tool of the suite does nothing else. */
export const approvedTool = 'test_input_required_result_tampered_state';
const ofApprovals = ['input-required-result-tampered-state', 'input-required-result-unsupported-methods'];

export function reasonAgainst(scenario: string, ofGateway = false): string | undefined {
  if (ofGateway && ofApprovals.includes(scenario)) return undefined;
  return Object.entries(scenariosWithout).find(([start]) => scenario.startsWith(start))?.[1];
}
