// Makes anything fit for a log: secrets struck out by key, by pattern and by value, sizes bounded, control characters
// visible, so that no value can forge a line or repaint a terminal. Never throws; reads no getters twice.

export interface Redactor {
  text(value: string, maxLength?: number): string;
  value(value: unknown): unknown;
}

const MASK = '[redacted]';
const maxText = 2_048;
const maxItems = 50;
const maxDepth = 6;

const secretKey =
  /pass(?:word|wd|phrase)?$|secret|token$|api[-_]?key|authori[sz]ation|cookie|credential|private[-_]?key|^(?:x-)?auth$/i;

/** Shapes that are secrets wherever they stand. Each is linear: no nested repetition. */
const secretPatterns: readonly [RegExp, string][] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, MASK],
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}/gi, `$1 ${MASK}`],
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*/g, MASK],
  [/\b(?:sk|pk|rk|sb|ghp|gho|ghs|xoxb|xoxp|glpat|hf|npm)[-_][A-Za-z0-9_-]{12,}/g, MASK],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, MASK],
  [/\bAIza[A-Za-z0-9_-]{30,}/g, MASK],
  [/:\/\/[^\s/@:]{0,256}:[^\s/@]{1,256}@/g, `://${MASK}@`],
  [/\b(password|passwd|secret|token|api[-_]?key)(["']?\s*[=:]\s*["']?)[^\s"'&,;}]{3,}/gi, `$1$2${MASK}`],
];

/** C0, DEL, C1, line and paragraph separators, bidirectional overrides. */
const invisible = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const shown: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

export function createRedactor(secrets: readonly string[] = []): Redactor {
  const known = secrets.filter((secret) => secret.length >= 8).sort((left, right) => right.length - left.length);

  function text(value: string, maxLength = maxText): string {
    // Cut long before the patterns run, and again after; the margin keeps a secret at the edge whole for them.
    let clean = value.length > maxLength + 4_096 ? value.slice(0, maxLength + 4_096) : value;
    for (const secret of known) if (clean.includes(secret)) clean = clean.replaceAll(secret, MASK);
    for (const [pattern, replacement] of secretPatterns) clean = clean.replace(pattern, replacement);
    if (clean.length > maxLength) clean = `${clean.slice(0, maxLength)}… (${value.length} characters)`;
    return clean.replace(
      invisible,
      (character) => shown[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  }

  function walk(value: unknown, depth: number, seen: readonly object[]): unknown {
    switch (typeof value) {
      case 'string':
        return text(value);
      case 'bigint':
        return value.toString();
      case 'number':
      case 'boolean':
      case 'undefined':
        return value;
      case 'symbol':
      case 'function':
        return undefined;
      case 'object':
        break;
    }
    if (value === null) return null;
    if (seen.includes(value)) return '[circular]';
    if (depth >= maxDepth) return '[deep]';
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    if (value instanceof Error) return { name: text(value.name), message: text(value.message) };
    const path = [...seen, value];
    if (Array.isArray(value)) {
      const items = value.slice(0, maxItems).map((item) => walk(item, depth + 1, path));
      return value.length > maxItems ? [...items, `… ${value.length - maxItems} more`] : items;
    }
    const entries = Object.entries(value);
    const shownEntries = entries.slice(0, maxItems).map(([key, inner]): [string, unknown] => {
      const hide = secretKey.test(key) && typeof inner !== 'number' && typeof inner !== 'boolean' && inner != null;
      return [text(key, 128), hide ? MASK : walk(inner, depth + 1, path)];
    });
    if (entries.length > maxItems) shownEntries.push(['…', `${entries.length - maxItems} more`]);
    return Object.fromEntries(shownEntries);
  }

  return {
    text,
    value: (value) => {
      try {
        return walk(value, 0, []);
      } catch {
        return '[unreadable]';
      }
    },
  };
}
