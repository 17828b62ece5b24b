// The output schemas of this worker's tools, compiled when first needed. A call uses the schema of the definition that it was
// planned with, which may differ from the current one. An unusable schema counts as none.
import { compileSchema, type CompiledSchema } from '#libs/json-schema/compile-schema.js';
import { mendSchema } from '#libs/json-schema/mend-schema.js';
import type { Logger } from '#libs/logging/logger.js';
import type { CatalogStore } from '#libs/runs/catalog/catalog-store.js';
import type { Json, JsonObject } from '#libs/schemas/json.js';
import type { SchemaLimits } from './read-definitions.js';

const checkDeadlineMs = 100;
const maxCompiled = 2_000;

interface PlannedTool {
  server: string;
  tool: string;
  definitionHash: string;
}

export type OutputCheck = ((value: Json, bytes: number) => string | undefined) | undefined;

export class OutputSchemas {
  /** By server and definition hash, least recently used first. Null if the definition has no usable schema. */
  private readonly compiled = new Map<string, CompiledSchema | null>();

  constructor(
    private readonly store: Pick<CatalogStore, 'outputSchema'>,
    private readonly limits: SchemaLimits,
    private readonly logger: Logger,
  ) {}

  /** Checks structured content; undefined if there is no schema. Returns no promise if the schema has been read. */
  checkOf(job: PlannedTool): OutputCheck | Promise<OutputCheck> {
    const key = `${job.server}\n${job.definitionHash}`;
    const known = this.compiled.get(key);
    return known === undefined ? this.read(job).then((read) => this.keep(key, read)) : this.keep(key, known);
  }

  private keep(key: string, compiled: CompiledSchema | null | undefined): OutputCheck {
    if (compiled === undefined) return undefined;
    this.compiled.delete(key);
    this.compiled.set(key, compiled);
    if (this.compiled.size > maxCompiled) this.compiled.delete(this.compiled.keys().next().value!);
    return compiled === null ? undefined : (value, bytes) => compiled.check(value, bytes);
  }

  /** Undefined if the schema cannot be read: a call that already ran must not fail for that. */
  private async read({ server, tool, definitionHash }: PlannedTool): Promise<CompiledSchema | null | undefined> {
    let schema: JsonObject | null | undefined;
    try {
      schema = await this.store.outputSchema(server, definitionHash);
    } catch (error) {
      this.logger.warn({ tool, error }, 'the output schema of a tool cannot be read, its result is not checked');
      return undefined;
    }
    if (schema === undefined || schema === null) return schema;
    try {
      const mended = mendSchema(schema);
      if ('problem' in mended) throw new Error(mended.problem);
      return compileSchema(mended.schema, { ...this.limits, deadlineMs: checkDeadlineMs });
    } catch (error) {
      this.logger.warn({ tool, error }, 'the output schema of a tool cannot be used, its results are not checked');
      return null;
    }
  }
}
