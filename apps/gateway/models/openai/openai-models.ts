// Facts from the name of a model that is served by OpenAI's API or a compatible one: its efforts, and the API that it
// wants. Unknown names get what the caller asked for.
// https://developers.openai.com/api/docs/guides/reasoning and …/guides/latest-model, as of November 2026.
import { effortsFrom, nearestEffort } from '../conversation/efforts.js';

/** 505 for `gpt-5.5-2026-04-23`; undefined for all names but `gpt-` and a version. */
function gptVersion(model: string): number | undefined {
  const match = /^gpt-(\d{1,2})(?:\.(\d{1,2}))?(?:-|$)/.exec(model);
  return match === null ? undefined : Number(match[1]) * 100 + Number(match[2] ?? 0);
}

/** The first match counts. A model without efforts does not reason. */
const efforts: readonly [RegExp, readonly string[]][] = [
  [/^(?:gpt-[34]|chatgpt-|gpt-5-chat|o1-(?:mini|preview))/, []],
  [/^(?:gpt-5\.\d+-chat|o\d+(?:-mini)?-deep-research)/, ['medium']],
  [/^(?:o\d|codex-mini|gpt-5-codex|gpt-5\.1-codex(?!-max))/, effortsFrom('low', 'high')],
  [/^gpt-5-pro/, ['high']],
  [/^gpt-5(?:-|$)/, effortsFrom('minimal', 'high')],
  [/^gpt-5\.[1-3]-codex/, effortsFrom('low', 'xhigh')],
  [/^gpt-5\.1(?:-|$)/, ['none', ...effortsFrom('low', 'high')]],
  [/^gpt-5\.[2-5]-pro/, effortsFrom('medium', 'xhigh')],
  [/^gpt-5\.[2-5](?:-|$)/, ['none', ...effortsFrom('low', 'xhigh')]],
  [/^gpt-(?:5\.|6-(?:sol|luna)|6\.1-terra)/, ['none', ...effortsFrom('low', 'max')]],
  [/^gpt-(?:[6-9]|\d\d)(?:[-.]|$)/, effortsFrom('low', 'max')],
  // Models that many compatible servers have.
  [/^(?:.*\/)?gpt-oss/, effortsFrom('low', 'high')],
  [/^(?:.*\/)?gemini-2\.5-flash/, effortsFrom('none', 'high')],
  [/^(?:.*\/)?gemini-/, effortsFrom('minimal', 'high')],
  // https://docs.mistral.ai/inference/conversations/reasoning; Magistral always reasons.
  [/^(?:.*\/)?mistral-(?:small|medium)/, ['none', 'high']],
  [/^(?:.*\/)?mistral-large-(?:[4-9]-|latest)/, effortsFrom('low', 'high')],
  [/^(?:.*\/)?(?:open-)?(?:mi[sx]tral-|ministral|magistral|codestral|devstral|pixtral|voxtral)/, []],
];

/** Undefined for unknown names. */
function effortsOf(model: string): readonly string[] | undefined {
  const name = model.replace(/^openai\//, '');
  return efforts.find(([names]) => names.test(name))?.[1];
}

/** Whether the model may send reasoning items; unknown names are assumed to. */
export const mayReason = (model: string): boolean => effortsOf(model)?.length !== 0;

/** The effort for the Responses API; undefined if the model has no efforts. */
export function responsesEffort(model: string, asked: string): string | undefined {
  const known = effortsOf(model);
  return known === undefined ? asked : nearestEffort(asked, known);
}

/**
 * The effort for chat completions, which do not know `max`. There GPT-5.4 refuses tools together with an effort, and later
 * models refuse them without `none`.
 */
export function chatEffort(model: string, asked: string | undefined, offersTools: boolean): string | undefined {
  const isRefused = offersTools && (gptVersion(model) ?? 0) >= (asked === undefined ? 505 : 504);
  if (asked === undefined && !isRefused) return undefined;
  const known = effortsOf(model)?.filter((effort) => effort !== 'max');
  if (isRefused && known?.includes('none') === true) return 'none';
  return asked === undefined || known === undefined ? asked : nearestEffort(asked, known);
}

/**
 * Whether the Responses API is the better or the only way to the model: GPT-5.4 and later reason with tools only there, and
 * the `pro`, `codex` and research models are nowhere else. A name with a prefix (`openai/gpt-5.5`) belongs to a server that
 * decides itself.
 */
export function wantsResponses(model: string): boolean {
  if (onlyResponses.test(model)) return true;
  return (gptVersion(model) ?? 0) >= 504 && !model.includes('-chat');
}

const onlyResponses = /^(?:o\d+(?:-mini)?-(?:pro|deep-research)|codex-mini|computer-use|gpt-5(?:\.\d+)?-(?:pro|codex))/;

/** Whether the Responses API has `tool_search` for the model: https://developers.openai.com/api/docs/guides/tools-tool-search */
export const openAiTakesToolSearch = (model: string): boolean => (gptVersion(model) ?? 0) >= 504;

/** OpenAI's reasoning models: o1, o3-mini, gpt-5, gpt-5.2-codex, openai/gpt-6 */
export const isReasoningModel = (model: string): boolean => reasoningModels.test(model);

const reasoningModels = /^(?:openai\/)?(?:o[1-9]\d*|codex-mini|gpt-(?:[5-9]|\d\d))(?:[-.]|$)/;

/**
 * OpenAI's reasoning models take `temperature` and `top_p` only while they do not reason, and GPT-6 and later never. All other
 * models take them.
 */
export function openAiTakesSampling(model: string, effort: string | undefined): boolean {
  if (!isReasoningModel(model)) return true;
  const known = effortsOf(model);
  if (known === undefined || known.length === 0) return true;
  const version = gptVersion(model.replace(/^openai\//, '')) ?? 0;
  // Without an effort, GPT-5.1 to 5.4 do not reason.
  const used = effort ?? (version <= 504 ? 'none' : 'medium');
  return used === 'none' && known.includes('none') && version < 600;
}

/** `verbosity` came with GPT-5. Unknown names are assumed to have it. */
export const takesVerbosity = (model: string): boolean => !withoutVerbosity.test(model);

const withoutVerbosity = /^(?:openai\/)?(?:gpt-(?:[34]|oss|5(?:\.\d+)?-chat)|chatgpt-|o\d)/;
