// Makes anything fit for a log: secrets struck out by key, by pattern and by value, sizes bounded, control characters
// visible, so that no value can forge a line or repaint a terminal. Never throws; reads no getters twice.
import { isSecretName, redactText } from '#libs/audit/redact.js';

export interface Redactor {
  text(value: string, maxLength?: number): string;
  /** Of about `maxLength` characters as JSON: what comes after them is left out. */
  value(value: unknown, maxLength: number): unknown;
  /** These in place of those that were known. */
  strikeOut(secrets: readonly string[]): void;
}

const mask = '[redacted]';
const maxText = 2_048;
const maxItems = 50;
const maxDepth = 6;

/** Too short for any pattern, or an id that was minted here: most of what is logged, and not worth a search. */
const harmless = /^(?:[\w ./-]{0,11}|(?:req|run|sess|call)_[0-9a-f]{24,32})$/;

/** C0, DEL, C1, line and paragraph separators, bidirectional overrides. */
const invisible = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const escapes: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

export function createRedactor(secrets: readonly string[] = []): Redactor {
  let known = longestFirst(secrets);

  function text(value: string, maxLength = maxText): string {
    if (harmless.test(value) && !known.some((secret) => value.includes(secret))) return value;
    // Cut long before the patterns run, and again after; the margin keeps a secret at the edge whole for them.
    let shown = value.length > maxLength + 4_096 ? value.slice(0, maxLength + 4_096) : value;
    for (const secret of known) if (shown.includes(secret)) shown = shown.replaceAll(secret, mask);
    shown = redactText(shown);
    if (shown.length > maxLength) shown = `${shown.slice(0, maxLength)}… (${value.length} characters)`;
    return shown.replace(
      invisible,
      (character) => escapes[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  }

  /** Characters that the value may still become. */
  let left = 0;
  function charge(shown: string): string {
    // Quotes and backslashes become two.
    left -= (shown.length > 256 ? JSON.stringify(shown).length : shown.length) + 3;
    return shown;
  }

  function walk(value: unknown, depth: number, seen: readonly object[]): unknown {
    switch (typeof value) {
      case 'string':
        return charge(text(value));
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
    if (value instanceof Error) return { name: charge(text(value.name)), message: charge(text(value.message)) };
    const path = [...seen, value];
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (const item of value.slice(0, maxItems)) {
        if (left <= 0) break;
        left -= 8;
        items.push(walk(item, depth + 1, path));
      }
      return value.length > items.length ? [...items, `… ${value.length - items.length} more`] : items;
    }
    const keys = Object.keys(value);
    // Without a prototype a member called __proto__ stays data.
    const shown = Object.create(null) as Record<string, unknown>;
    let members = 0;
    for (const key of keys) {
      if (members === maxItems || left <= 0) break;
      members += 1;
      const inner = (value as Record<string, unknown>)[key];
      const name = text(key, 128);
      left -= name.length + 8;
      const mayHide = inner != null && typeof inner !== 'number' && typeof inner !== 'boolean';
      shown[name] = mayHide && isSecretName(key) ? mask : walk(inner, depth + 1, path);
    }
    if (keys.length > members) shown['…'] = `${keys.length - members} more`;
    return shown;
  }

  return {
    text,
    strikeOut: (others) => void (known = longestFirst(others)),
    value: (value, maxLength) => {
      left = maxLength;
      try {
        return walk(value, 0, []);
      } catch {
        return '[unreadable]';
      }
    },
  };
}

function longestFirst(secrets: readonly string[]): string[] {
  return secrets.filter((secret) => secret.length >= 8).sort((left, right) => right.length - left.length);
}
