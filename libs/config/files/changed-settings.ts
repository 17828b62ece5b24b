// Finds the keys that differ between two configurations. Shows no values, which may be secret.
import { isDeepStrictEqual } from 'node:util';
import { formatKey } from '../config-error.js';
import type { Config } from '../schema.js';
import type { Path } from '../printing/schema-walk.js';

/** Sorted keys, without tool servers, toolsets and policy, which need no restart. */
export function changedSettings(
  { mcpServers: _before, toolsets: _setsBefore, policy: _policyBefore, ...before }: Config,
  { mcpServers: _after, toolsets: _setsAfter, policy: _policyAfter, ...after }: Config,
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
