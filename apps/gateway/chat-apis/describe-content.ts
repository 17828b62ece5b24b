// Describes content that only one API knows, by the text in it, or else by its type. Encrypted content is only named.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';

export type TypedContent = Record<string, unknown> & { type: string };

export function describeContent(given: TypedContent): string {
  const part = given as JsonObject & { type: string };
  const { title, source, url, text, output, content, stdout, stderr } = part;
  const said = [text, output, content, stdout, stderr].map(textIn).filter((each) => each !== '');
  const where = [title, url, source].filter((each): each is string => typeof each === 'string' && each !== '');
  if (said.length > 0 || typeof url === 'string') return [...where, ...said].join('\n');
  return `[${[part.type, ...namesIn(part)].join(' ')}]`;
}

function textIn(value: Json | undefined): string {
  if (typeof value === 'string') return value;
  if (isJsonObject(value)) return typeof value['type'] === 'string' ? describeContent(value as TypedContent) : '';
  if (!Array.isArray(value)) return '';
  return value
    .map(textIn)
    .filter((text) => text !== '')
    .join('\n');
}

/** Names in content without text: its tool, file or page, and its input. */
function namesIn({ source, input, action, tools, ...part }: JsonObject): string[] {
  const inside = isJsonObject(source) ? [source['url'], source['file_id']] : [source];
  const offered = Array.isArray(tools) ? tools.map((tool) => (isJsonObject(tool) ? (tool['name'] ?? null) : null)) : [];
  const names = [part['name'], part['tool_name'], part['title'], part['file_id'], ...inside, ...offered];
  const asked = [input, action].filter(isJsonObject).map((each) => JSON.stringify(each));
  return [...names.filter((name): name is string => typeof name === 'string' && name !== ''), ...asked];
}
