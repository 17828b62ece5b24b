// Token usage in OpenAI's own shape, so that a caller's and a provider's members pass unchanged.
import { isJsonObject, type Json, type JsonObject } from './json.js';

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  [detail: string]: Json;
}

export const noUsage: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/** Adds two usages member by member, nested details included; for members that are not numbers the later value wins. */
export function addUsage(left: Usage, right: Usage): Usage {
  return addMembers(left, right) as Usage;
}

function addMembers(left: JsonObject, right: JsonObject): JsonObject {
  const sum: JsonObject = { ...left };
  for (const key in right) {
    const value = right[key]!;
    const before = sum[key];
    if (typeof value === 'number' && typeof before === 'number') sum[key] = before + value;
    else if (isJsonObject(value) && isJsonObject(before)) sum[key] = addMembers(before, value);
    else if (value !== null) sum[key] = value;
  }
  return sum;
}

/** A count inside `prompt_tokens_details` or `completion_tokens_details`; 0 if there is none. */
export function usageDetail(usage: Usage, member: string, name: string): number {
  const details = usage[member];
  const value = isJsonObject(details) ? details[name] : undefined;
  return typeof value === 'number' ? value : 0;
}
