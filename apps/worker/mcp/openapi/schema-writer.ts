// Writes schemas of an OpenAPI document as JSON Schema for a tool's arguments: references to the document become part of the schema
// or `$defs`, what only documents or answers need is left out. The older forms of OpenAPI 3.0 (`nullable`) are mended where all
// tools' schemas are (libs/json-schema/mend-schema.ts). No default is kept as such: arguments are filled in with defaults, and an
// update would then change what it does not name.
import { isJsonObject, type Json, type JsonObject, textOrEmpty } from '#libs/schemas/json.js';
import { localTarget } from './read-document.js';

export interface SchemaForm {
  /** Whether references are replaced by what they lead to, except where that contains itself; else all are `$defs`. */
  inlines: boolean;
  /** Whether descriptions and examples of members are kept. */
  describes: boolean;
  /** Below this many levels anything is allowed. */
  maxLevels: number;
  maxBytes: number;
}

/** The schema has become larger than `maxBytes`. */
export class SchemaTooLarge extends Error {}

const schemas = ['items', 'additionalProperties', 'not', 'contains', 'propertyNames', 'if', 'then', 'else'];
const lists = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const maps = ['patternProperties', 'dependentSchemas'];
const kept = (
  'type format nullable enum const pattern minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf ' +
  'minItems maxItems uniqueItems minProperties maxProperties dependentRequired deprecated'
).split(' ');
const longestDescription = 400;
const longestExample = 100;
const leastBytesOfNode = 8;
const fileWords = 'Path of a file in the workspace, or a data: URL with the content in base64.';

export class SchemaWriter {
  readonly defs: JsonObject = {};
  private readonly names = new Map<string, string>();
  private nodes = 0;

  /** @param takesFiles whether a binary text is a file: in forms, and as a whole body */
  constructor(
    private readonly root: JsonObject,
    private readonly form: SchemaForm,
    private readonly takesFiles: boolean,
  ) {}

  /** @throws SchemaTooLarge, DocumentProblem */
  write(given: unknown): Json {
    return this.node(given, []);
  }

  /** @param way the references that led here, and a place for each level */
  private node(given: unknown, way: readonly string[]): Json {
    if (typeof given === 'boolean') return given;
    if (!isJsonObject(given) || way.length > this.form.maxLevels) return {};
    this.nodes += 1;
    if (this.nodes * leastBytesOfNode > this.form.maxBytes) throw new SchemaTooLarge();
    const { $ref: ref } = given;
    if (typeof ref === 'string') return this.reference(ref, given, way);
    const made: JsonObject = {};
    for (const key of kept) if (given[key] !== undefined) made[key] = given[key];
    // Generators write it everywhere, and it makes checks slow.
    if (given['type'] === 'string') delete made['uniqueItems'];
    if (this.takesFiles && isFile(given))
      return { type: 'string', description: `${fileWords} ${describe(given)}`.trim() };
    if (this.form.describes || way.length <= 1) {
      const description = describe(given);
      if (description !== '') made['description'] = description;
      const { example } = given;
      if (this.form.describes && isShort(example)) made['examples'] = [example!];
    }
    const inner = [...way, ''];
    this.members(made, given, inner);
    for (const key of schemas) if (given[key] !== undefined) made[key] = this.node(given[key], inner);
    for (const key of lists)
      if (Array.isArray(given[key])) made[key] = given[key].map((each) => this.node(each, inner));
    for (const key of maps) if (isJsonObject(given[key])) made[key] = this.mapped(given[key], inner);
    return made;
  }

  /** Read-only members are those of answers. */
  private members(made: JsonObject, { properties, required }: JsonObject, way: readonly string[]): void {
    const sent = Object.entries(isJsonObject(properties) ? properties : {}).filter(
      ([, member]) => !isJsonObject(member) || member['readOnly'] !== true,
    );
    if (isJsonObject(properties)) made['properties'] = this.mapped(Object.fromEntries(sent), way);
    if (!Array.isArray(required)) {
      if (required !== undefined) made['required'] = required;
      return;
    }
    const isSent = (name: Json) => typeof name === 'string' && !isReadOnly(properties, name);
    const names = required.filter(isSent);
    if (names.length > 0) made['required'] = names;
  }

  private mapped(given: JsonObject, way: readonly string[]): JsonObject {
    return Object.fromEntries(Object.entries(given).map(([name, schema]) => [name, this.node(schema, way)]));
  }

  private reference(ref: string, { description }: JsonObject, way: readonly string[]): Json {
    const own: JsonObject =
      this.form.describes && typeof description === 'string' ? { description: clipped(description) } : {};
    const target = localTarget(ref, this.root);
    if (target === undefined) return own;
    if (this.form.inlines && !way.includes(ref)) {
      const written = this.node(target, [...way.slice(0, -1), ref]);
      return isJsonObject(written) ? { ...written, ...own } : written;
    }
    const known = this.names.get(ref);
    const name = known ?? this.nameFor(ref);
    if (known === undefined) {
      // Set first: what it refers to may lead back.
      this.names.set(ref, name);
      this.defs[name] = {};
      this.defs[name] = this.node(target, [ref]);
    }
    return { $ref: `#/$defs/${name}`, ...own };
  }

  private nameFor(ref: string): string {
    const last = ref.slice(ref.lastIndexOf('/') + 1).replaceAll(/[^A-Za-z0-9_.-]+/g, '_') || 'schema';
    let name = last;
    for (let number = 2; Object.hasOwn(this.defs, name); number += 1) name = `${last}_${number}`;
    return name;
  }
}

/** Swagger 2 has a type for files; OpenAPI 3.1 names the media type of a text that is not encoded. */
export function isFile({ type, format, contentMediaType, contentEncoding }: JsonObject): boolean {
  if (type === 'file') return true;
  if (![type].flat().includes('string')) return false;
  return format === 'binary' || (typeof contentMediaType === 'string' && contentEncoding === undefined);
}

export const clipped = (text: string, length = longestDescription): string =>
  text.length > length ? `${text.slice(0, length - 1).trimEnd()}…` : text;

function describe({ description, default: given }: JsonObject): string {
  const text = clipped(textOrEmpty(description).trim());
  if (!isShort(given)) return text;
  return `${text} Default: ${JSON.stringify(given)}.`.trim();
}

const isShort = (value: Json | undefined): boolean =>
  ['string', 'number', 'boolean'].includes(typeof value) && JSON.stringify(value).length <= longestExample;

function isReadOnly(properties: Json | undefined, name: string): boolean {
  if (!isJsonObject(properties) || !Object.hasOwn(properties, name)) return false;
  const member = properties[name];
  return isJsonObject(member) && member['readOnly'] === true;
}
