// Converts a server's listing to definitions that can be stored: invalid tools are left out and reported.
import { z } from 'zod';
import { WorkSlices } from '#libs/concurrency/work-slices.js';
import { canonicalHash, canonicalJson } from '#libs/json-schema/canonical-hash.js';
import { exceedsDepth } from '#libs/json-schema/compile-schema.js';
import { mendSchema } from '#libs/json-schema/mend-schema.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';

export interface SchemaLimits {
  maxBytes: number;
  maxDepth: number;
}

const toolSchema = z.looseObject({
  name: z.string(),
  title: z.string().max(1_000).optional().catch(undefined),
  description: z.string().max(20_000).nullish(),
  inputSchema: z.record(z.string(), z.json()),
  outputSchema: z.record(z.string(), z.json()).optional().catch(undefined),
  annotations: z
    .object({
      title: z.string().optional().catch(undefined),
      readOnlyHint: z.boolean().optional().catch(undefined),
      destructiveHint: z.boolean().optional().catch(undefined),
      idempotentHint: z.boolean().optional().catch(undefined),
      openWorldHint: z.boolean().optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
  _meta: z.record(z.string(), z.unknown()).optional().catch(undefined),
});

export type ReadTool = z.output<typeof toolSchema>;

export interface ListedDefinition {
  /** The server's own name for it. */
  tool: string;
  /** The definition as received, without members that do not belong to a tool. `readStored` mends its schemas. */
  definition: JsonObject;
  /** SHA-256 (hex) over the canonical form of its pinned members. */
  hash: string;
}

/** Members that identify a definition; `_meta` is not one. */
const pinned = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;

/** Limit for a definition, as a multiple of the limit for a schema. */
const schemasOfOne = 4;
/** Limit for all definitions of a server: they are stored, and read by every gateway. */
const maxAllBytes = 32 * 1024 * 1024;

/** Lets other work run in between, because listings may be large. `refused` has the tools left out, with reasons. */
export async function readDefinitions(
  listed: readonly unknown[],
  limits: SchemaLimits,
): Promise<{ definitions: ListedDefinition[]; refused: string[] }> {
  const turns = new WorkSlices();
  const definitions = new Map<string, ListedDefinition>();
  const refused: string[] = [];
  let bytes = 0;
  for (const raw of listed) {
    await turns.next();
    const read = readDefinition(raw, limits);
    const size = typeof read === 'string' ? 0 : Buffer.byteLength(JSON.stringify(read.definition));
    if (typeof read === 'string') refused.push(`${nameOf(raw)}: ${read}`);
    else if (definitions.has(read.tool)) refused.push(`${read.tool}: listed twice, the first one stays`);
    else if (size > schemasOfOne * limits.maxBytes) {
      refused.push(`${read.tool}: its definition is larger than ${schemasOfOne * limits.maxBytes} bytes`);
    } else if (bytes + size > maxAllBytes) {
      refused.push(`${read.tool}: all definitions of the server are larger than ${maxAllBytes} bytes`);
    } else {
      bytes += size;
      definitions.set(read.tool, read);
    }
  }
  return { definitions: [...definitions.values()], refused };
}

function readDefinition(raw: unknown, limits: SchemaLimits): ListedDefinition | string {
  if (exceedsDepth(raw, limits.maxDepth + 2)) return `nested deeper than ${limits.maxDepth} levels`;
  const parsed = toolSchema.safeParse(raw);
  if (!parsed.success) return 'not a tool definition';
  const { name, inputSchema } = parsed.data;
  const misnamed = problemOfName(name);
  if (misnamed !== undefined) return misnamed;
  if (Buffer.byteLength(JSON.stringify(inputSchema)) > limits.maxBytes) {
    return `its schema is larger than ${limits.maxBytes} bytes`;
  }
  const mended = mendSchema(inputSchema);
  if ('problem' in mended) return `its schema cannot be used: ${mended.problem}`;
  const members = raw as JsonObject;
  const definition = pick(members, [...pinned, '_meta']);
  return { tool: name, definition, hash: canonicalHash(pick(members, pinned)) };
}

/** Reads a stored definition, which was validated before, and mends its schemas. */
export function readStored(definition: JsonObject): ReadTool {
  const { inputSchema, outputSchema, ...tool } = toolSchema.parse(definition);
  const input = mendSchema(inputSchema);
  const output = outputSchema === undefined ? undefined : mendSchema(outputSchema);
  return {
    ...tool,
    // A definition of a version before this one may have a schema that is now refused.
    inputSchema: 'schema' in input ? input.schema : inputSchema,
    ...(output !== undefined && 'schema' in output ? { outputSchema: output.schema } : {}),
  };
}

const longestName = 128;

/** MCP allows letters, digits, `_`, `.` and `-`; servers use `/` and more. A name must not look like another one, or like a path. */
export function problemOfName(name: string): string | undefined {
  if (name === '' || name.length > longestName) return `its name must have 1 to ${longestName} characters`;
  if (/[\s\p{C}\p{DI}\\]/u.test(name) || name.normalize('NFKC') !== name || mixesScripts(name)) {
    return 'its name has characters that can look like others';
  }
  if (name.split('/').some((segment) => /^\.{0,2}$/.test(segment))) return 'its name is like a path';
  return undefined;
}

/** Cyrillic and Greek letters among Latin ones look like these. */
const mixesScripts = (name: string) => /\p{sc=Latin}/u.test(name) && /[\p{sc=Cyrillic}\p{sc=Greek}]/u.test(name);

/**
 * How much the definition of a tool, a prompt or instructions differs from the approved one. White space counts only in titles, descriptions
 * and instructions: everything in a schema, and in the arguments of a prompt, is part of the contract.
 */
export function gradeChange(approved: JsonObject, listed: JsonObject): 'cosmetic' | 'wording' | 'contract' {
  const contract = (definition: JsonObject) =>
    canonicalJson(pick(definition, ['inputSchema', 'outputSchema', 'annotations', 'arguments']));
  if (contract(approved) !== contract(listed)) return 'contract';
  const words = (definition: JsonObject) =>
    JSON.stringify(['title', 'description', 'instructions'].map((member) => collapsed(definition[member])));
  return words(approved) === words(listed) ? 'cosmetic' : 'wording';
}

const collapsed = (text: unknown): string => (typeof text === 'string' ? text.replaceAll(/\s+/g, ' ').trim() : '');

function pick(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.flatMap((name) => (object[name] === undefined ? [] : [[name, object[name]]])));
}

/** The name with invisible characters escaped. */
function nameOf(raw: unknown): string {
  const name = isJsonObject(raw) ? raw['name'] : undefined;
  if (typeof name !== 'string' || name === '') return 'a tool without a name';
  return name.slice(0, 100).replaceAll(/[\p{C}\p{Z}]/gu, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);
}
