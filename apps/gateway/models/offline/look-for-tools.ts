// A request may offer `find_tools` in place of many tools (docs/tool-search.md). Then the model looks once for what none of the offered
// tools does, and goes on with what was found.
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import type { ModelRequest } from '../model-provider.js';
import { mostRead, type Plan, planOfflineCalls } from './plan-calls.js';
import type { ConversationState } from './read-conversation-state.js';
import { isGreeting } from './read-request.js';

const search = 'find_tools';

export function planWithSearch(conversation: ConversationState, offered: ModelRequest, now: number): Plan {
  if (!offered.tools.some(isSearch) || isChosen(offered)) return planOfflineCalls(conversation, offered, now);
  const { steps } = withoutSearches(conversation, offered);
  const tools = offered.tools.filter((tool) => !isSearch(tool));
  const plan = planOfflineCalls({ ...conversation, steps }, { ...offered, tools }, now);
  const searched = steps.length < conversation.steps.length;
  if (plan.calls.length > 0 || plan.lacking !== undefined || searched || offered.toolChoice === 'none') return plan;
  // A plan without any task says nothing of what is undone.
  const { request } = conversation;
  const whole = steps.length > 0 || isGreeting(request) ? '' : request;
  const query = (plan.undone[0] ?? whole).slice(0, mostRead);
  return query.trim() === '' ? plan : { ...plan, calls: [{ name: search, arguments: { query } }] };
}

/** What is answered about: what was found is no result. */
export function withoutSearches(conversation: ConversationState, { tools }: ModelRequest): ConversationState {
  if (!tools.some(isSearch)) return conversation;
  return { ...conversation, steps: conversation.steps.filter(({ name }) => name !== search) };
}

/** The gateway's, or one like it. */
const isSearch = ({ name, parameters }: ToolDefinition): boolean =>
  name === search && JSON.stringify(parameters?.['required'] ?? []) === '["query"]';

const isChosen = ({ toolChoice }: ModelRequest): boolean =>
  typeof toolChoice === 'object' && toolChoice.name === search;
