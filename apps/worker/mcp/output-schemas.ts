// The output schemas of the tools that this worker runs, compiled when first needed. A schema that cannot be used
// promises nothing.
import { compileSchema, type CompiledSchema } from '#libs/json-schema/compile-schema.js';
import type { Logger } from '#libs/logging/logger.js';
import type { PublishedTool } from '#libs/runs/catalog-store.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { SchemaLimits } from './publish-catalog.js';

const CHECK_DEADLINE_MS = 100;

type Check = (value: JsonObject, bytes: number) => string | undefined;

export class OutputSchemas {
  /** By server, then by tool. */
  readonly #servers = new Map<string, Map<string, { schema: JsonObject; compiled?: CompiledSchema | 'unusable' }>>();

  constructor(
    private readonly limits: SchemaLimits,
    private readonly logger: Logger,
  ) {}

  replace(server: string, tools: readonly PublishedTool[]): void {
    const schemas = tools.flatMap(({ tool, outputSchema }) =>
      outputSchema === undefined ? [] : [[tool, { schema: outputSchema }] as const],
    );
    this.#servers.set(server, new Map(schemas));
  }

  checkOf({ server, tool }: { server: string; tool: string }): Check | undefined {
    const entry = this.#servers.get(server)?.get(tool);
    if (entry === undefined) return undefined;
    entry.compiled ??= this.#compile(entry.schema, tool);
    const { compiled } = entry;
    return compiled === 'unusable' ? undefined : (value, bytes) => compiled.check(value, bytes);
  }

  #compile(schema: JsonObject, tool: string): CompiledSchema | 'unusable' {
    try {
      return compileSchema(schema, { ...this.limits, deadlineMs: CHECK_DEADLINE_MS });
    } catch (error) {
      this.logger.warn({ tool, error }, 'the output schema of a tool cannot be used, its results are not checked');
      return 'unusable';
    }
  }
}
