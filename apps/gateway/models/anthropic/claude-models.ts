// What can be told of a Claude model by its name: its version, and from that its largest answer and how it is made to
// think. Names that say nothing get what every model takes.

/** 406 for `claude-opus-4-6`, 305 for `claude-3-5-sonnet-20241022`; undefined for names without a version. */
export function claudeVersion(model: string): number | undefined {
  const match = /claude-(?:[a-z]+-)?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?/.exec(model);
  return match === null ? undefined : Number(match[1]) * 100 + Number(match[2] ?? 0);
}

/** Tokens; the API wants to be told. */
export function largestAnswer(model: string): number {
  const version = claudeVersion(model);
  const isOpus = model.includes('opus');
  if (version === undefined || (version >= 305 && version < 307)) return 8_192;
  if (version < 305) return 4_096;
  if (version >= 406 && isOpus) return 128_000;
  return version >= 400 && version < 405 && isOpus ? 32_000 : 64_000;
}

/** Decides itself how much to think; earlier models are given a budget. */
export const thinksAdaptively = (model: string): boolean => (claudeVersion(model) ?? 0) >= 406;

const canThink = (model: string): boolean => (claudeVersion(model) ?? 400) >= 307;

/** Whether `output_config.format` is known; of a stranger it is hoped. */
export const takesOutputFormat = (model: string): boolean => (claudeVersion(model) ?? 405) >= 405;

/** Whether it may be told how to sample: Opus 4.7 and everything after it refuses `temperature`, `top_p` and `top_k`. */
export const takesSampling = (model: string): boolean => (claudeVersion(model) ?? 0) < 407;

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

/** OpenAI's `reasoning_effort` for that model; nothing where it does not think or there is no room for it. */
export function toThinking(model: string, effort: string | undefined, maxTokens: number): Thinking {
  if (effort === undefined || effort === 'none' || !canThink(model)) return {};
  if (thinksAdaptively(model)) {
    const thinking = { type: 'adaptive', display: 'summarized' } as const;
    return { thinking, effort: effort === 'minimal' ? 'low' : effort };
  }
  const budget = Math.min(budgets.get(effort) ?? 8_192, Math.floor(maxTokens * 0.8));
  return budget < leastBudget ? {} : { thinking: { type: 'enabled', budget_tokens: budget } };
}
