// What the suites ask for that Signalbox does not have, and why (docs/mcp.md says the same to users). Nothing else may fail.

/** Whole scenarios of own servers and the client, by the beginning of their names. */
const scenariosWithout: Record<string, string> = {
  'tasks-': 'an extension that the gateway offers, not its tool servers',
};

const models = 'the models of the gateway answer tool servers, not those of its client';
/** The same for the gateway, whose tool server asks. */
const scenariosWithoutGateway: Record<string, string> = {
  'tools-call-sampling': models,
  'input-required-result-basic-sampling': models,
  'input-required-result-capability-check': models,
  'input-required-result-multiple-input-requests': models,
  'input-required-result-basic-list-roots':
    'the roots of a tool server are workspaces of the gateway, not of its client',
  'input-required-result-basic-elicitation': 'the gateway has ids of its own for questions, and the suite a fixed one',
  'tasks-required-task-error': 'every tool can be called without a task',
  'tasks-mrtr-composition': 'a task asks what its tool server asks',
};

/** Single checks of scenarios that apply to the gateway otherwise, by their ids. */
const checksWithoutGateway: Record<string, string> = {
  'sep-2575-server-rejects-undeclared-capability': models,
  'sep-2575-missing-capability-http-400': models,
  'tasks-mrtr-partial-fulfillment': 'what a tool server asks at once is asked one after the other',
  'sep-2663-tasks-get-status-failed': 'the error of a tool server is a result that says so, as without a task',
};

export function reasonAgainst(scenario: string, ofGateway = false): string | undefined {
  const without = ofGateway ? scenariosWithoutGateway : scenariosWithout;
  return Object.entries(without).find(([start]) => scenario.startsWith(start))?.[1];
}

export function reasonAgainstCheck(id: string, ofGateway: boolean): string | undefined {
  return ofGateway ? checksWithoutGateway[id] : undefined;
}
