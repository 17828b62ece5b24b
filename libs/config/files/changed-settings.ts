// Which settings differ between two configurations, by key. Shows no value: any may be a secret.
import { isDeepStrictEqual } from 'node:util';
import { formatKey } from '../config-error.js';
import type { Config } from '../schema.js';
import type { Path } from '../printing/schema-walk.js';

/** Keys as the file writes them, sorted; tool servers and the policy are left out: they need no restart. */
export function changedSettings(
  { mcpServers: _before, policy: _policyBefore, ...before }: Config,
  { mcpServers: _after, policy: _policyAfter, ...after }: Config,
): string[] {
  const changed: string[] = [];
  compare(before, after, []);
  return changed.sort();

  function compare(left: unknown, right: unknown, path: Path): void {
    if (!isSection(left) || !isSection(right)) {
      if (!isDeepStrictEqual(left, right)) changed.push(formatKey(path));
      return;
    }
    for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
      compare(left[key], right[key], [...path, key]);
    }
  }
}

function isSection(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
