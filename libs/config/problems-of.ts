// Translates zod's issues for operators: the key, the problem, the value (never a secret), and the nearest known key.
import type { z } from 'zod';
import { formatKey, type ConfigProblem } from './config-error.js';
import { knownKeys, settings, valueAt, type Path } from './printing/schema-walk.js';
import { showValue } from './secrets.js';

export function problemsOf(
  error: z.ZodError,
  tree: unknown,
  originOf: (path: Path) => string | undefined,
): ConfigProblem[] {
  return error.issues.flatMap((issue) => {
    const path = issue.path as Path;
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => located([...path, key], unknownKey(path, key)));
    }
    const value = valueAt(tree, path);
    if (value === undefined) return [located(path, 'is missing')];
    return [located(path, `${words(issue)}, got ${showValue(value, path)}`)];
  });

  function located(path: Path, message: string): ConfigProblem {
    return { key: formatKey(path) || 'configuration', message, origin: originOf(path) };
  }
}

const kinds: Record<string, string> = { int: 'a whole number', object: 'a map', record: 'a map', array: 'a list' };

function words(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${kinds[issue.expected] ?? `a ${issue.expected}`}`;
    case 'invalid_value':
      return `must be ${issue.values.map(String).join(' | ')}`;
    case 'too_small':
      if (unit(issue.origin) !== '' && issue.minimum === 1) return 'must not be empty';
      return `must be ${issue.inclusive === false ? 'greater than' : 'at least'} ${issue.minimum}${unit(issue.origin)}`;
    case 'too_big':
      return `must be ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${unit(issue.origin)}`;
    case 'invalid_format':
      return issue.format === 'url' ? 'must be an http or https URL' : `must match ${issue.pattern ?? issue.format}`;
    case 'invalid_key':
      return 'must be named with letters, digits, _ and - only';
    case 'invalid_union':
    case 'invalid_element':
    case 'not_multiple_of':
    case 'unrecognized_keys':
    case 'custom':
      return `is not valid: ${issue.message}`;
  }
}

const unit = (origin: string) => (origin === 'string' ? ' characters' : origin === 'array' ? ' items' : '');

function unknownKey(path: Path, key: string): string {
  const near = nearestKey(path, key);
  return near === undefined ? 'is not a known key' : `is not a known key; did you mean ${near}?`;
}

/** Prefers keys of the same section to those elsewhere: `model` means `models`, `port` means `server.port`. Undefined if none is close. */
function nearestKey(path: Path, key: string): string | undefined {
  const here = knownKeys(path).map((name) => ({ name: formatKey([...path, name]), far: distance(key, name) }));
  const elsewhere = settings.map((setting) => ({
    name: formatKey(setting.path),
    far: distance(key, setting.path.at(-1)!) + 1,
  }));
  const [first] = [...here, ...elsewhere].sort((left, right) => left.far - right.far);
  return first !== undefined && first.far <= key.length / 2 ? first.name : undefined;
}

/** The Levenshtein distance, without case and underscores (`dataDir` equals `data_dir`). */
function distance(left: string, right: string): number {
  const a = left.toLowerCase().replaceAll(/[_-]/g, '').slice(0, 64);
  const b = right.toLowerCase().replaceAll(/[_-]/g, '').slice(0, 64);
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}
