// Makes anything fit for a log: secrets struck out by key, by pattern and by value, sizes bounded, control characters
// visible, so that no value can forge a line or repaint a terminal. Never throws; reads no getters twice.
import { strikeOutKnown } from '#libs/audit/known-secrets.js';
import { redactText } from '#libs/audit/redact.js';
import { isSecretName } from '#libs/audit/secret-names.js';

export interface Redactor {
  text(value: string, maxLength?: number): string;
  /** Keeps about `maxLength` characters as JSON; the rest is left out. */
  value(value: unknown, maxLength: number): unknown;
  /** Replaces the known secrets. */
  strikeOut(secrets: readonly string[]): void;
}

const mask = '[redacted]';
const maxText = 2_048;
const maxItems = 50;
const maxDepth = 6;

/** Too short for any pattern, a name without what patterns look for, or an id that was minted here: most of what is logged. */
const harmless = /^(?:[\w ./-]{0,11}|[a-z][A-Za-z]{0,23}|(?:req|run|sess|call)_[0-9a-f]{24,32})$/;

/** C0, DEL, C1, line and paragraph separators, bidirectional overrides. */
const invisible = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const escapes: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

export function createRedactor(secrets: readonly string[] = []): Redactor {
  let known = longestFirst(secrets);

  function strikeOut(value: string): string {
    let shown = strikeOutKnown(value);
    for (const secret of known) if (shown.includes(secret)) shown = shown.replaceAll(secret, mask);
    return shown;
  }

  function text(value: string, maxLength = maxText): string {
    if (harmless.test(value) && strikeOut(value) === value) return value;
    // Cut long before the patterns run, and again after; the margin keeps a secret at the edge whole for them.
    let shown = value.length > maxLength + 4_096 ? value.slice(0, maxLength + 4_096) : value;
    shown = redactText(strikeOut(shown));
    if (shown.length > maxLength) shown = `${shown.slice(0, maxLength)}… (${value.length} characters)`;
    return shown.replace(
      invisible,
      (character) => escapes[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  }

  /** Characters that are left for the value. */
  let left = 0;
  function charge(shown: string): string {
    // Quotes and backslashes become two characters.
    left -= (shown.length > 256 ? JSON.stringify(shown).length : shown.length) + 3;
    return shown;
  }

  /** The objects around the value, from the outside in. */
  const within: object[] = [];

  function walk(value: unknown): unknown {
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
    if (within.includes(value)) return '[circular]';
    if (within.length >= maxDepth) return '[deep]';
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    if (value instanceof Error) return { name: charge(text(value.name)), message: charge(text(value.message)) };
    within.push(value);
    const shown = Array.isArray(value) ? itemsOf(value) : membersOf(value as Record<string, unknown>);
    within.pop();
    return shown;
  }

  function itemsOf(value: readonly unknown[]): unknown[] {
    const items: unknown[] = [];
    for (const item of value.slice(0, maxItems)) {
      if (left <= 0) break;
      left -= 8;
      items.push(walk(item));
    }
    if (value.length > items.length) items.push(`… ${value.length - items.length} more`);
    return items;
  }

  function membersOf(value: Record<string, unknown>): Record<string, unknown> {
    const keys = Object.keys(value);
    const shown: Record<string, unknown> = {};
    let members = 0;
    for (const key of keys) {
      if (members === maxItems || left <= 0) break;
      members += 1;
      const inner = value[key];
      const name = text(key, 128);
      left -= name.length + 8;
      const mayHide = inner != null && typeof inner !== 'number' && typeof inner !== 'boolean';
      const written = mayHide && isSecretName(key) ? mask : walk(inner);
      // Otherwise the assignment would set the prototype.
      if (name === '__proto__') Object.defineProperty(shown, name, { value: written, enumerable: true });
      else shown[name] = written;
    }
    if (keys.length > members) shown['…'] = `${keys.length - members} more`;
    return shown;
  }

  return {
    text,
    strikeOut: (others) => void (known = longestFirst(others)),
    value: (value, maxLength) => {
      left = maxLength;
      within.length = 0;
      try {
        return walk(value);
      } catch {
        return '[unreadable]';
      }
    },
  };
}

function longestFirst(secrets: readonly string[]): string[] {
  return secrets.filter((secret) => secret.length >= 8).sort((left, right) => right.length - left.length);
}
