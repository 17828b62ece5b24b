// Known traits of the servers behind `kind: openai`: by their address, their settings and the names of their models. An unknown
// server is sent what every compatible server takes.
import type { ProviderConfig } from '#libs/config/schema.js';
import { isReasoningModel } from '../openai-models.js';

export interface ServedModel {
  /** OpenAI itself or Azure, which refuse unknown fields and members. */
  isOpenAi: boolean;
  /** Whether the server knows the role `developer`; all know `system`. */
  takesDeveloper: boolean;
  /** The server's name for the limit of an answer; undefined: both names. */
  limit: 'max_tokens' | 'max_completion_tokens' | undefined;
  /** Whether the API refuses unknown fields and members, as Mistral's does. */
  isStrict: boolean;
  /** Whether an assistant message must stand between results and a user message, as in Mistral's templates. */
  answersResults: boolean;
  takesPictures: boolean;
  /** Whether the server knows `verbosity`, if the model has it. */
  takesVerbosity: boolean;
}

type ServerSettings = Pick<ProviderConfig, 'base_url' | 'call_ids' | 'images'>;

export function servedModel(settings: ServerSettings, provider: string, model: string): ServedModel {
  const isOpenAi = settings.base_url === undefined || openAiHosts.test(new URL(settings.base_url).hostname);
  return {
    isOpenAi,
    takesDeveloper: isOpenAi,
    limit: isReasoningModel(model) ? 'max_completion_tokens' : isOpenAi ? undefined : 'max_tokens',
    isStrict: isMistral(settings),
    answersResults: isMistral(settings) || mistralModels.test(`${provider}/${model}`),
    takesPictures: takesPictures(settings, model),
    takesVerbosity: isOpenAi || isReasoningModel(model),
  };
}

/** Without the setting, only models that are known to read text alone take no pictures. */
export function takesPictures({ images }: Pick<ProviderConfig, 'images'>, model: string): boolean {
  return images ?? (seeingModels.test(model) || !textModels.test(model));
}

function isMistral({ base_url: url, call_ids: callIds }: ServerSettings): boolean {
  return callIds === 'alphanumeric9' || (url !== undefined && /(?:^|\.)mistral\.ai$/.test(new URL(url).hostname));
}

/** OpenAI itself, also in its regions, and Azure. */
const openAiHosts = /(?:^|\.)openai\.com$|\.(?:openai|cognitiveservices|services\.ai)\.azure\.(?:com|us|cn)$/;

const mistralModels = /mi[sx]tral|ministral|codestral|magistral|devstral|pixtral|voxtral/i;

/** qwen2.5vl, llama-3.2-11b-vision, phi-4-multimodal, glm-4.5v */
const seeingModels = /vl(?![a-z])|vision|multimodal|omni|ocr(?![a-z])|\dv(?![a-z0-9])/i;

const textModels = new RegExp(
  `(?:^|[^a-z])(?:${[
    'deepseek',
    'gpt-3\\.5|gpt-4(?:-32k|-0314|-0613|$)|gpt-oss|o1-(?:mini|preview)|o3-mini',
    '(?:code|tiny)?llama-?[23]|codellama|tinyllama',
    'qwen-?(?:1\\.5|2(?:\\.5)?|3)(?![.\\d])|qwen-(?:max|turbo)|qwq',
    'kimi-k2(?!\\.)|glm-[45](?!\\d)|minimax-m\\d',
    '(?:open-)?mi[sx]tral-(?:7b|8x|nemo|large-24)|mixtral|codestral|devstral-[a-z]+-250|ministral-\\d+b-2410',
    'phi-?[1-4]|gemma-?2(?!\\d)|gemma(?::|-[27]b)|gemma-?3[-:](?:1b|270m)',
    'grok-3|grok-code|command-[ar]|granite|olmo|smollm|starcoder',
  ].join('|')})`,
  'i',
);
