// What differs between two JSON values, part by part: for an approver's edit and for a changed definition of a tool.
import { isSecretName } from '#libs/audit/secret-names.js';
import { isSame, pathOf } from '../forms/check-value.js';
import { isObject, type Json } from '../forms/form-schema.js';
import { masked } from '../forms/schema-values.js';

export interface ChangedPart {
  /** `members.0.name`; the whole value is ''. */
  path: string;
  before: string | undefined;
  after: string | undefined;
}

/** Texts are compared by lines: those that are the same at both ends are left out. */
export function changedParts(before: Json | undefined, after: Json | undefined, path = ''): ChangedPart[] {
  if (isSame(before, after)) return [];
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) => {
      const [one, other] = [before[name], after[name]];
      if (!isSecretName(name)) return changedParts(one, other, pathOf(path, name));
      return isSame(one, other) ? [] : [{ path: pathOf(path, name), before: hidden(one), after: hidden(other) }];
    });
  }
  if (typeof before === 'string' && typeof after === 'string') return [{ path, ...changedLines(before, after) }];
  return [{ path, before: shown(before), after: shown(after) }];
}

const hidden = (value: Json | undefined) => (value === undefined ? undefined : '••••••');

function shown(value: Json | undefined): string | undefined {
  return value === undefined || typeof value === 'string' ? value : JSON.stringify(masked(value), null, 2);
}

function changedLines(before: string, after: string): { before: string; after: string } {
  const [one, other] = [before.split('\n'), after.split('\n')];
  const shorter = Math.min(one.length, other.length);
  let first = 0;
  while (first < shorter - 1 && one[first] === other[first]) first++;
  let last = 0;
  while (last < shorter - 1 - first && one.at(-1 - last) === other.at(-1 - last)) last++;
  const middle = (lines: readonly string[]) =>
    [...(first > 0 ? ['…'] : []), ...lines.slice(first, lines.length - last), ...(last > 0 ? ['…'] : [])].join('\n');
  return { before: middle(one), after: middle(other) };
}
