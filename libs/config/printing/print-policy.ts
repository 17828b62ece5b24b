// Writes a policy as YAML that can be put into its file. Comments of the file are not in it: it is written from what is in force.
import { stringify } from 'yaml';
import type { PolicySource } from '#libs/policy/decision.js';
import type { PolicyRule } from '../schemas/policy-schema.js';

/** `below`: under the key `policy`, as in signalbox.yaml; otherwise as a file of its own. */
export function printPolicy({ default: unmatched, rules }: PolicySource['policy'], below: boolean): string {
  const policy = escaped({ default: unmatched, rules });
  return stringify(below ? { policy } : policy, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** One entry of `rules`. */
export const printRule = (rule: PolicyRule): string =>
  stringify([escaped(rule)], { lineWidth: 0, aliasDuplicateObjects: false });

/** `${` would be read as a variable. */
function escaped(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('${', () => '$${');
  if (Array.isArray(value)) return value.map(escaped);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, escaped(inner)]));
}
