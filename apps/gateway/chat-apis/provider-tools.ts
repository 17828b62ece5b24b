// The tools of OpenAI's and Anthropic's APIs that are neither functions nor of a server here: which of them run at the
// provider, and which the caller runs itself.
import type { JsonObject } from '#libs/schemas/json.js';
import type { ProviderTool } from '#libs/schemas/tool-definition.js';
import type { Warning } from '#libs/schemas/warning.js';

export type OtherTool = JsonObject & { type: string };

/** With the date of their version, or without. */
const atOpenAi =
  /^(?:web_search|web_search_preview|file_search|code_interpreter|image_generation)(?:_\d{4}_\d\d_\d\d)?$/;

/** OpenAI's tools that its clients run are answered in forms of their own, and are not served. */
export const runsAtOpenAi = (type: string): boolean => atOpenAi.test(type);

export function leftOut(type: string, param: string): Warning {
  return { message: `Tools of type '${type.slice(0, 64)}' are not served here, so ${param} was left out`, param };
}
