// Checks the arguments of a model or caller before they are journaled: bounds, JSON, schema. Each definition is compiled once.
// Converts a model's texts where nothing is lost, and never guesses; error messages say what a model can correct.
import type { Config } from '#libs/config/schema.js';
import { compileSchema, exceedsDepth, type CompiledSchema } from '#libs/json-schema/compile-schema.js';
import { convertTexts } from '#libs/json-schema/convert-texts.js';
import type { Logger } from '#libs/logging/logger.js';
import { isJsonObject, type Json, parseJsonObject } from '#libs/schemas/json.js';
import type { ArgumentValidator, SchemaOwner, ValidatedArguments } from './tool-catalog.js';

export interface ArgumentBounds {
  maxArgumentBytes: number;
  maxSchemaBytes: number;
  maxSchemaDepth: number;
}

export const argumentBounds = ({ tools, limits }: Pick<Config, 'tools' | 'limits'>): ArgumentBounds => ({
  maxArgumentBytes: tools.max_argument_bytes,
  maxSchemaBytes: limits.tool_schema_bytes,
  maxSchemaDepth: limits.tool_schema_depth,
});

const maxArgumentDepth = 64;
const checkDeadlineMs = 100;
const compiledKept = 2_000;

type Entry = { schema: CompiledSchema } | { unusable: string };

export class CompiledArgumentValidator implements ArgumentValidator {
  /** By definition hash, the least recently used first. */
  private readonly compiled = new Map<string, Entry>();

  constructor(
    private readonly bounds: ArgumentBounds,
    private readonly logger: Logger,
  ) {}

  validate(tool: SchemaOwner, text: string, from?: 'model'): ValidatedArguments {
    const bytes = Buffer.byteLength(text);
    if (bytes > this.bounds.maxArgumentBytes) {
      return refuse(tool, `they have ${bytes} bytes; the limit is ${this.bounds.maxArgumentBytes}`);
    }
    let value: unknown;
    try {
      // Models leave the text empty when a tool takes no arguments.
      value = text.trim() === '' ? {} : JSON.parse(text);
      if (from === 'model' && typeof value === 'string') return this.validateText(tool, value);
    } catch {
      return refuse(tool, 'they are not valid JSON; send one complete JSON object');
    }
    if (!isJsonObject(value)) return refuse(tool, 'they must be a JSON object');
    if (exceedsDepth(value, maxArgumentDepth)) {
      return refuse(tool, `they are nested deeper than ${maxArgumentDepth} levels`);
    }
    const odd = sanitize(value);
    if (odd !== undefined) return refuse(tool, odd);
    const entry = this.entry(tool);
    if ('unusable' in entry) return refuse(tool, `the schema of this tool cannot be used: ${entry.unusable}`);
    const problem = entry.schema.check(value, bytes);
    if (problem === undefined) return { ok: true, arguments: value };
    const converted = from === 'model' ? convertTexts(value, tool.inputSchema) : value;
    if (converted === value) return refuse(tool, problem);
    // The bounds apply to the content of converted texts too.
    const read = this.validate(tool, JSON.stringify(converted));
    return read.ok ? { ...read, sent: value } : refuse(tool, problem);
  }

  /** Validates arguments that were written as one JSON string. */
  private validateText(tool: SchemaOwner, text: string): ValidatedArguments {
    const read = parseJsonObject(text) === undefined ? undefined : this.validate(tool, text, 'model');
    if (read === undefined) return refuse(tool, 'they must be a JSON object');
    return read.ok ? { sent: read.arguments, ...read } : read;
  }

  private entry(tool: SchemaOwner): Entry {
    const known = this.compiled.get(tool.definitionHash);
    if (known !== undefined) {
      this.compiled.delete(tool.definitionHash);
      this.compiled.set(tool.definitionHash, known);
      return known;
    }
    const entry = this.compile(tool);
    this.compiled.set(tool.definitionHash, entry);
    if (this.compiled.size > compiledKept) this.compiled.delete(this.compiled.keys().next().value!);
    return entry;
  }

  private compile(tool: SchemaOwner): Entry {
    const metadata = { server: tool.server };
    try {
      const schema = compileSchema(tool.inputSchema, {
        maxBytes: this.bounds.maxSchemaBytes,
        maxDepth: this.bounds.maxSchemaDepth,
        deadlineMs: checkDeadlineMs,
      });
      if (schema.droppedPatterns.length > 0) {
        this.logger.warn(
          { tool: tool.name, metadata: { ...metadata, patterns: schema.droppedPatterns } },
          'patterns of a tool schema are not checked: they need more than linear time',
        );
      }
      return { schema };
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'not a schema';
      this.logger.warn({ tool: tool.name, error, metadata }, 'the input schema of a tool cannot be used');
      return { unusable: reason.slice(0, 200) };
    }
  }
}

const refuse = (tool: SchemaOwner, problem: string): ValidatedArguments => ({
  ok: false,
  message: `Invalid arguments for ${tool.name}: ${problem}`,
});

/**
 * Removes `__proto__` members (no tool means them, and copying them would set a prototype) and names the first value that JSON
 * cannot represent. The depth is bounded already.
 */
function sanitize(value: Json): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'a number is out of range';
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) return firstOf(value, sanitize);
  if (Object.hasOwn(value, '__proto__')) delete value['__proto__'];
  return firstOf(Object.values(value), sanitize);
}

function firstOf<T extends Json>(items: readonly T[], check: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = check(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
