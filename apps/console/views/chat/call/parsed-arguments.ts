// The arguments of a call, once they are complete.
import type { JsonObject } from '../../../widgets/forms/form-schema.js';

export function parsedArguments(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}
