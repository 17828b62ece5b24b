// Removes secrets from data before it is written: by names of members, by patterns of values, and the secrets that this
// process knows. Removes too much rather than too little; keeps no part of a secret.
import type { Json } from '#libs/schemas/json.js';
import { strikeOutKnown } from './known-secrets.js';
import { isSecretName } from './secret-names.js';

const redacted = '[redacted]';

/** Deeper members are replaced unread. */
const maxDepth = 64;

/** Longer strings are cut. The whole row is clamped to less. */
const maxStringLength = 32_768;
/** Patterns also read this much after the cut, so that they find a secret that crosses it. */
const margin = 4_096;

/** Longer strings are not parsed as JSON: only the patterns apply. */
const maxInnerLength = 262_144;

const secretValues: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g,
  /\beyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)?/g,
  /\b(?:sb|sk|rk|pk)[_-][\w-]{12,}/g,
  /\b(?:gh[oprsu]_|github_pat_|glpat-|npm_|xox[abeoprs]-|hf_|AKIA|ASIA|AIza|ya29\.|SG\.)[\w.-]{12,}/g,
];

/** Removes the value after a name; the name tells the reader what was there. */
const namedValues: readonly RegExp[] = [
  /\b(bearer|basic|token)(\s{1,4})[\w+/=.~:-]{6,}/gi,
  /(passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|token|authorization|cookie)([\w-]{0,32}\\{0,8}["']?\s{0,4}[=:]\s{0,4})(?:\\{0,8}"[^"]{0,4096}"?|'[^']{0,4096}'?|(?:[^\s"',;&}\\]|\\(?![nrt"\\])){1,4096})/gi,
];

/** Used only for texts with `://`, since it tries every letter, which takes longer than all other patterns. */
const passwordInUrl = /([a-z][a-z\d+.-]{0,20}:\/\/)([^\s:/@]{0,256}:)[^\s/@]{1,256}(?=@)/gi;

/** Most names and many values, which need no other pattern: only cloud keys have neither space nor punctuation. */
const plainWord = /^(?!AKIA|ASIA|AIza)[A-Za-z\d]+$/;

const namedRedacted = `$1$2${redacted}`;

export function redactText(text: string): string {
  let shown = strikeOutKnown(text.length > maxStringLength ? text.slice(0, maxStringLength + margin) : text);
  if (shown.length <= maxStringLength && plainWord.test(shown)) return shown;
  for (const pattern of secretValues) shown = shown.replace(pattern, redacted);
  for (const pattern of namedValues) shown = shown.replace(pattern, namedRedacted);
  if (shown.includes('://')) shown = shown.replace(passwordInUrl, namedRedacted);
  return shown.length > maxStringLength ? shown.slice(0, maxStringLength) : shown;
}

export function redact(value: Json | undefined, depth = 0): Json {
  if (typeof value === 'string') return redactText(redactInner(value, depth));
  if (typeof value !== 'object' || value === null) return value ?? null;
  if (depth >= maxDepth) return '[too deep]';
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [redactText(name), redactMember(name, member, depth)]),
  );
}

/** Redacts strings that are JSON themselves, as most tools answer, by their names too. */
function redactInner(text: string, depth: number): string {
  if (!/^\s{0,16}[[{]/.test(text) || text.length > maxInnerLength || depth >= maxDepth) return text;
  try {
    return JSON.stringify(redact(JSON.parse(text) as Json, depth + 1));
  } catch {
    return text;
  }
}

function redactMember(name: string, member: Json, depth: number): Json {
  const empty = member === null || member === '' || typeof member === 'boolean';
  return !empty && isSecretName(name) ? redacted : redact(member, depth + 1);
}
