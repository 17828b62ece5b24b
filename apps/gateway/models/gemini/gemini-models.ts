// Facts from the name of a Gemini model.
import type { JsonObject } from '#libs/schemas/json.js';
import { effortsFrom, nearestEffort } from '../conversation/efforts.js';

/** 2.5 for `gemini-2.5-flash`; undefined for names without a version. */
function geminiVersion(model: string): number | undefined {
  const match = /gemini-(\d+(?:\.\d+)?)/.exec(model);
  return match === null ? undefined : Number(match[1]);
}

/** Whether the model refuses its own calls without their signatures. */
export const wantsSignatures = (model: string): boolean => (geminiVersion(model) ?? 0) >= 3;

/** Models from 2.5 on refuse penalties ("Penalty is not enabled for this model"). */
export const takesPenalties = (model: string): boolean => (geminiVersion(model) ?? 3) < 2.5;

/** Models before 3 refuse `responseMimeType` beside function declarations. */
export const takesFormBesideTools = (model: string): boolean => (geminiVersion(model) ?? 3) >= 3;

/** From Google's OpenAI-compatible API, which has none above `high`: higher efforts get the most that every model takes. */
const budgets = new Map<string, number>([
  ['none', 0],
  ['minimal', 1_024],
  ['low', 1_024],
  ['medium', 8_192],
  ['high', 24_576],
  ['xhigh', 24_576],
  ['max', 24_576],
]);

/** The `thinkingLevel`s of Gemini 3 and later. https://ai.google.dev/gemini-api/docs/thinking */
function levelsOf(model: string): readonly string[] {
  const version = geminiVersion(model);
  if (version === 3 && model.includes('pro')) return ['low', 'high'];
  const hasMinimal = /flash/.test(model) && version !== undefined && version < 3.7;
  return effortsFrom(hasMinimal ? 'minimal' : 'low', 'high');
}

/** Translates OpenAI's `reasoning_effort` to `thinkingConfig`. Undefined if the model cannot think. */
export function toThinkingConfig(model: string, effort: string): JsonObject | undefined {
  const version = geminiVersion(model) ?? 3;
  if (version < 2.5) return undefined;
  if (version < 3) {
    // Pro cannot stop thinking.
    const least = model.includes('pro') ? 128 : 0;
    return { thinkingBudget: Math.max(budgets.get(effort) ?? 8_192, least), includeThoughts: effort !== 'none' };
  }
  const levels = levelsOf(model);
  const thinkingLevel = nearestEffort(effort, levels);
  const isLevel = thinkingLevel !== undefined && levels.includes(thinkingLevel);
  return { thinkingLevel: isLevel ? thinkingLevel : 'high', includeThoughts: effort !== 'none' };
}
