// Takes secrets out of what is about to be written down: by the name of a field, by the look of a value, and those that this
// process knows. Errs on the side of taking out too much; keeps no part of a secret.
import type { Json } from '#libs/schemas/json.js';
import { strikeOutKnown } from './known-secrets.js';

const redacted = '[redacted]';

/** Deeper members are not looked at, and not shown. */
const maxDepth = 64;

/** No more of one string is looked at, or shown; the whole row is clamped below this. */
const maxStringLength = 32_768;
/** Looked at behind it, so that a secret at its end is a whole one. */
const margin = 4_096;

/** Longer ones are not parsed: the patterns have to do. */
const maxInnerLength = 262_144;

/** On names without punctuation, in small letters. */
const secretName =
  /passw|passphrase|secret|apikey|privatekey|accesskey|signingkey|encryptionkey|authori[sz]ation|credential|cookie|^(x?auth|pwd|pass|jwt|bearer)$|token$/;

export const isSecretName = (name: string): boolean => secretName.test(name.toLowerCase().replace(/[^a-z\d]/g, ''));

const secretValues: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g,
  /\beyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)?/g,
  /\b(?:sb|sk|rk|pk)[_-][\w-]{12,}/g,
  /\b(?:gh[oprsu]_|github_pat_|glpat-|npm_|xox[abeoprs]-|hf_|AKIA|ASIA|AIza|ya29\.|SG\.)[\w.-]{12,}/g,
];

/** What follows the name stays out; the name itself tells the reader what was there. */
const namedValues: readonly RegExp[] = [
  /\b(bearer|basic|token)(\s{1,4})[\w+/=.~:-]{6,}/gi,
  /(passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|token|authorization|cookie)([\w-]{0,32}\\{0,8}["']?\s{0,4}[=:]\s{0,4})(?:\\{0,8}"[^"]{0,4096}"?|'[^']{0,4096}'?|(?:[^\s"',;&}\\]|\\(?![nrt"\\])){1,4096})/gi,
];

/** It looks for a scheme at every letter, which takes longer than all other patterns: only of texts that have one. */
const passwordInUrl = /([a-z][a-z\d+.-]{0,20}:\/\/)([^\s:/@]{0,256}:)[^\s/@]{1,256}(?=@)/gi;

/** Most names, and many values. Of the patterns only keys of clouds have neither a space nor any punctuation. */
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

/** Texts that are JSON themselves (what most tools answer) are read by their names too. */
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
