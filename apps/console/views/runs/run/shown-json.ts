// What of a run is shown as JSON: without what the names of members say is secret, also within arguments, which are text.
import { isSecretName } from '#libs/audit/secret-names.js';
import type { Json } from '../../../widgets/forms/form-schema.js';
import { masked } from '../../../widgets/forms/schema-values.js';

const longestParsed = 1_000_000;

export const shownJson = (value: unknown): Json => masked(withoutSecretTexts(value as Json));

function withoutSecretTexts(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutSecretTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      name === 'arguments' && typeof member === 'string' ? maskedText(member) : withoutSecretTexts(member),
    ]),
  );
}

/** Arguments that a model writes are a text of JSON. */
export function maskedText(text: string): string {
  if (text.length > longestParsed) return maskedPieces(text);
  try {
    const value = JSON.parse(text) as Json;
    const shown = masked(value);
    return JSON.stringify(shown) === JSON.stringify(value) ? text : JSON.stringify(shown);
  } catch {
    return maskedPieces(text);
  }
}

/** For arguments that have not come whole. */
const maskedPieces = (text: string): string =>
  text.replace(/"([^"\\]{1,64})"\s*:\s*"(?:[^"\\]|\\.)*"?/g, (piece, name: string) =>
    isSecretName(name) ? `"${name}": "••••••"` : piece,
  );
