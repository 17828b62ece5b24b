// Test support: violations of OpenAI's rules for strict schemas, each with its path. Written independently of the code
// under test, from https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';

const refused =
  'allOf oneOf not if then else dependentRequired dependentSchemas patternProperties propertyNames unevaluatedProperties minProperties maxProperties prefixItems contains uniqueItems minLength maxLength default examples $id $anchor $dynamicRef $comment nullable'.split(
    ' ',
  );

const formats = 'date-time time date duration email hostname ipv4 ipv6 uuid'.split(' ');

export function strictViolations(schema: JsonObject): string[] {
  const found: string[] = [];
  const totals = { properties: 0, values: 0, characters: 0 };
  const visit = (node: Json | undefined, path: string, level: number): void => {
    if (!isJsonObject(node)) return void found.push(`${path} is no schema`);
    if ('$ref' in node) {
      if (Object.keys(node).length > 1) found.push(`${path}: $ref has siblings`);
      const [, definition] = /^#\/\$defs\/(\w+)$/.exec(node['$ref'] as string) ?? [];
      const definitions = (schema['$defs'] ?? {}) as JsonObject;
      if (node['$ref'] !== '#' && !(definition !== undefined && definition in definitions))
        found.push(`${path}: no such $ref`);
      return;
    }
    for (const keyword of refused) if (keyword in node) found.push(`${path}: ${keyword} is not permitted`);
    const kinds = [node['type'] ?? []].flat() as string[];
    if (kinds.length === 0 && !('anyOf' in node)) found.push(`${path} has no type`);
    if (kinds.includes('array')) visit(node['items'], `${path}.items`, level);
    if (kinds.includes('object')) {
      if (level > 10) found.push(`${path} is nested too deep`);
      const members = (node['properties'] ?? {}) as JsonObject;
      const required = (node['required'] ?? []) as string[];
      if (node['additionalProperties'] !== false) found.push(`${path} is open`);
      for (const name of Object.keys(members)) if (!required.includes(name)) found.push(`${path}.${name} is optional`);
      for (const name of required) if (!Object.hasOwn(members, name)) found.push(`${path}: ${name} is not there`);
      totals.properties += Object.keys(members).length;
      for (const [name, member] of Object.entries(members)) {
        totals.characters += name.length;
        visit(member, `${path}.${name}`, level + 1);
      }
    }
    for (const [at, branch] of ((node['anyOf'] ?? []) as Json[]).entries()) visit(branch, `${path}|${at}`, level);
    for (const key of ['$defs', 'definitions']) {
      for (const [name, member] of Object.entries((node[key] ?? {}) as JsonObject)) {
        totals.characters += name.length;
        visit(member, `${key}.${name}`, 1);
      }
    }
    if ('anyOf' in node && (node['anyOf'] as Json[]).length === 0) found.push(`${path}: anyOf is empty`);
    if ('format' in node && !formats.includes(node['format'] as string)) found.push(`${path}: no such format`);
    const values = (node['enum'] ?? ('const' in node ? [node['const']] : [])) as Json[];
    const length = values.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0);
    totals.values += 'enum' in node ? values.length : 0;
    totals.characters += length;
    if (values.length > 250 && length > 15_000) found.push(`${path}: its values are too long`);
  };
  if (schema['type'] !== 'object' || 'anyOf' in schema) found.push('the root is no plain object');
  visit(schema, '#', 1);
  if (totals.properties > 5_000) found.push('too many properties');
  if (totals.values > 1_000) found.push('too many values');
  if (totals.characters > 120_000) found.push('too many characters');
  return found;
}
