// One validation error as a sentence that tells a model what to change: the path, what was expected, what was given.
import type { ErrorObject } from 'ajv';

export function describeViolation(error: ErrorObject): string {
  const at = readablePath(error.instancePath);
  const params = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case 'required':
      return `${join(at, String(params['missingProperty']))} is required`;
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const name = String(params['additionalProperty'] ?? params['unevaluatedProperty']);
      const known = Object.keys((error.parentSchema?.['properties'] as object | undefined) ?? {});
      const hint = known.length === 0 ? '' : `; known: ${clip(known.join(', '), 300)}`;
      return `${join(at, clip(name, 100))} is not a known property${hint}`;
    }
    case 'type':
      return `${at || 'arguments'} must be ${String(params['type'])}, got ${kindOf(error.data)}`;
    case 'enum':
      return `${at || 'arguments'} must be one of ${clip(JSON.stringify(params['allowedValues']), 300)}`;
    case 'const':
      return `${at || 'arguments'} must be ${clip(JSON.stringify(params['allowedValue']), 300)}`;
    default:
      return `${at || 'arguments'} ${clip(error.message ?? 'does not match the schema', 300)}`;
  }
}

/** `/files/0/na~1me` → `files[0].na/me` */
function readablePath(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : join(path, clip(part, 100))), '');
}

const join = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);
const clip = (text: string, length: number): string => (text.length <= length ? text : `${text.slice(0, length)}…`);

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
