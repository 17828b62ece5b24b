// Facts from the name of a Claude model: its version, its largest answer, how thinking is turned on. Unknown
// names get what every model accepts.
import { effortsFrom, nearestEffort } from '../conversation/efforts.js';

/** 406 for `claude-opus-4-6`, 305 for `claude-3-5-sonnet-20241022`; undefined for names without a version. */
function claudeVersion(model: string): number | undefined {
  const match = /claude-(?:[a-z]+-)?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?/.exec(model);
  return match === null ? undefined : Number(match[1]) * 100 + Number(match[2] ?? 0);
}

/** The largest answer in tokens. The API requires `max_tokens`. */
export function largestAnswer(model: string): number {
  const version = claudeVersion(model);
  const isOpus = model.includes('opus');
  if (version === undefined || (version >= 305 && version < 307)) return 8_192;
  if (version < 305) return 4_096;
  if (version >= 406 && isOpus) return 128_000;
  return version >= 400 && version < 405 && isOpus ? 32_000 : 64_000;
}

/** The efforts of models that decide themselves how much to think; earlier models need a budget. */
function effortsOf(model: string): readonly string[] | undefined {
  const version = claudeVersion(model) ?? 0;
  if (version < 406) return undefined;
  return version < 407 ? [...effortsFrom('low', 'high'), 'max'] : effortsFrom('low', 'max');
}

/** Claude 5 and later think unless told not to, and some models cannot be told. */
const alwaysThinks = (model: string): boolean => (claudeVersion(model) ?? 0) >= 500;

const canThink = (model: string): boolean => (claudeVersion(model) ?? 400) >= 307;

/** Whether the model accepts `output_config.format`; unknown names are assumed to. */
export const takesOutputFormat = (model: string): boolean => (claudeVersion(model) ?? 405) >= 405;

/** Opus 4.7 and all later models refuse `temperature`, `top_p` and `top_k`. */
export const claudeTakesSampling = (model: string): boolean => (claudeVersion(model) ?? 0) < 407;

/**
 * Whether the model loads deferred tools by `tool_reference`. Unknown names are assumed not to.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool#model-compatibility
 */
export const claudeTakesToolSearch = (model: string): boolean => (claudeVersion(model) ?? 0) >= 405;

/** 4.6 and all later models refuse to continue a last message of the assistant; unknown names are assumed to accept it. */
export const takesPrefill = (model: string): boolean => (claudeVersion(model) ?? 0) < 406;

const leastBudget = 1_024;
const budgets = new Map<string, number>([
  ['minimal', leastBudget],
  ['low', 2_048],
  ['medium', 8_192],
  ['high', 24_576],
  ['xhigh', 32_768],
  ['max', 32_768],
]);

export interface Thinking {
  thinking?: { type: 'adaptive'; display: 'summarized' } | { type: 'enabled'; budget_tokens: number };
  effort?: string;
}

/** Translates OpenAI's `reasoning_effort`. Empty if the model cannot think or `maxTokens` leaves no room for it. */
export function toThinking(model: string, effort: string | undefined, maxTokens: number): Thinking {
  if (effort === undefined || !canThink(model)) return {};
  const known = effortsOf(model);
  const nearest = known === undefined ? undefined : nearestEffort(effort, known);
  if (effort === 'none') return alwaysThinks(model) && nearest !== undefined ? { effort: nearest } : {};
  if (nearest !== undefined) return { thinking: { type: 'adaptive', display: 'summarized' }, effort: nearest };
  const budget = Math.min(budgets.get(effort) ?? 8_192, Math.floor(maxTokens * 0.8));
  return budget < leastBudget ? {} : { thinking: { type: 'enabled', budget_tokens: budget } };
}
