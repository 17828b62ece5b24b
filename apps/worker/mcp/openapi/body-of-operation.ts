// The body of an operation: of the media types that it takes the one that a model can write best, and how it is sent.
import { isJsonObject, type JsonObject, textOrEmpty } from '#libs/schemas/json.js';
import { type ApiBody, type ApiParameter, isStyle, type PartEncoding } from './api-tool.js';
import { followed } from './read-document.js';
import { isFile } from './schema-writer.js';

const maxPartLevels = 8;

export interface DescribedBody {
  plan: ApiBody;
  schema: unknown;
  description: string;
}

export const isJsonType = (type: string): boolean => /^[^;]*[/+]json\b/i.test(type);

const kinds: readonly [ApiBody['kind'], (type: string) => boolean][] = [
  ['json', (type) => /^application\/json\s*(?:;|$)/i.test(type)],
  // A patch that has the form of what it changes.
  ['json', (type) => /merge-patch\+json\b/i.test(type)],
  ['json', isJsonType],
  ['multipart', (type) => /^multipart\/form-data\b/i.test(type)],
  ['form', (type) => /^application\/x-www-form-urlencoded\b/i.test(type)],
  ['text', (type) => /^text\/|[/+](?:xml|yaml|csv)\b/i.test(type)],
  ['file', () => true],
];

/** @param parameters whose arguments have their names already. @throws DocumentProblem */
export function bodyOfOperation(
  body: JsonObject | undefined,
  document: JsonObject,
  parameters: readonly ApiParameter[],
): DescribedBody | undefined {
  const content = body?.['content'];
  if (body === undefined || !isJsonObject(content)) return undefined;
  const media = Object.entries(content).map(([type, given]) => typed(type, followed(given, document), document));
  for (const [kind, isOfKind] of kinds) {
    const found = media.find(({ mediaType }) => isOfKind(mediaType));
    if (found === undefined) continue;
    const { mediaType, schema, encoding } = found;
    const plan: ApiBody = {
      argument: parameters.some(({ argument }) => argument === 'body') ? 'request_body' : 'body',
      mediaType,
      kind,
      files: kind === 'multipart' ? filesOf(schema, document) : [],
      encodings: encodingsOf(encoding),
    };
    return { plan, schema, description: textOrEmpty(body['description']) };
  }
  return undefined;
}

/** `*\/*` and `image/*` are no types of something that is sent: an object is JSON, anything else a file. */
function typed(given: string, { schema = {}, encoding }: JsonObject, document: JsonObject) {
  const any = () => {
    const { type, properties, allOf } = followed(schema, document);
    const isObject = type === 'object' || (properties ?? allOf) !== undefined;
    return isObject ? 'application/json' : 'application/octet-stream';
  };
  return { mediaType: given.includes('*') ? any() : given, schema, encoding };
}

/** The members of a form that are files, or lists of files, also those of schemas that it consists of. */
function filesOf(given: unknown, document: JsonObject, levels = 0): string[] {
  const { properties, allOf, anyOf, oneOf } = followed(given, document);
  const own = Object.entries(isJsonObject(properties) ? properties : {}).filter(([, member]) => {
    const schema = followed(member, document);
    return isFile(schema) || isFile(followed(schema['items'], document));
  });
  const parts =
    levels > maxPartLevels ? [] : [allOf, anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? list : []));
  return [...own.map(([name]) => name), ...parts.flatMap((part) => filesOf(part, document, levels + 1))];
}

function encodingsOf(given: unknown): Record<string, PartEncoding> {
  return Object.fromEntries(
    Object.entries(isJsonObject(given) ? given : {}).map(([name, encoding]) => {
      const { style, explode, contentType } = isJsonObject(encoding) ? encoding : {};
      return [
        name,
        {
          ...(isStyle(style) ? { style } : {}),
          ...(typeof explode === 'boolean' ? { explode } : {}),
          ...(typeof contentType === 'string' ? { contentType } : {}),
        },
      ];
    }),
  );
}
