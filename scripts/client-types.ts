// Writes the shapes of the OpenAPI document as types of the client library.
interface Shape {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: Shape[];
  items?: Shape;
  properties?: Record<string, Shape>;
  required?: string[];
  description?: string;
}

/** Shapes that the library has in a form of its own: events, and answers of errors. */
const left = new Set(['AuditEvent', 'ChatChunk', 'ChatEvent', 'Error', 'MessageError', 'RpcError']);

export function printClientTypes(shapes: Record<string, Shape>): string {
  const types = Object.entries(shapes)
    .filter(([name]) => !left.has(name))
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([name, shape]) => {
      const isObject = shape.properties !== undefined;
      return `${comment(shape)}export ${isObject ? `interface ${name}` : `type ${name} =`} ${typeOf(shape)}${isObject ? '' : ';'}`;
    });
  return `// What the gateway answers. Written by \`npm run docs:generate\` from apps/gateway/http/openapi.
import type { JsonObject } from './json.js';

${types.join('\n\n')}
`;
}

function typeOf(shape: Shape): string {
  const { $ref, type, properties, required, items } = shape;
  if ($ref !== undefined) return $ref.split('/').at(-1)!;
  const literals = shape.enum ?? (shape.const === undefined ? undefined : [shape.const]);
  if (literals !== undefined) return literals.map((each) => JSON.stringify(each)).join(' | ');
  if (shape.anyOf !== undefined) return shape.anyOf.map(typeOf).join(' | ');
  if (Array.isArray(type)) return type.map((each) => typeOf({ ...shape, type: each })).join(' | ');
  if (type === 'array') return `(${typeOf(items ?? {})})[]`;
  if (type !== 'object') return type === 'integer' ? 'number' : (type ?? 'unknown');
  if (properties === undefined) return 'JsonObject';
  const members = Object.entries(properties).map(
    ([name, member]) => `${comment(member)}${name}${required?.includes(name) === true ? '' : '?'}: ${typeOf(member)};`,
  );
  return `{\n${members.join('\n')}\n}`;
}

const comment = ({ description }: Shape): string => (description === undefined ? '' : `/** ${description}. */\n`);
