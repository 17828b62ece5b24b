// Lists what a server offers and publishes it for the gateways. One tool that is no tool is left out and reported; the
// others stay.
import { z } from 'zod';
import type { Channels } from '#libs/backing/channels.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import { exceedsDepth } from '#libs/json-schema/compile-schema.js';
import type { Logger } from '#libs/logging/logger.js';
import { toolMetadataMetaKey, toolTimeoutMetaKey } from '#libs/mcp-server/call-meta.js';
import type { CatalogStore, PublishedTool } from '#libs/runs/catalog-store.js';
import { isJsonObject } from '#libs/schemas/json.js';
import { channelNames } from '#libs/schemas/tool-job.js';
import { offeredName, type ConfiguredServer } from './configured-server.js';

export interface SchemaLimits {
  maxBytes: number;
  maxDepth: number;
}

const toolSchema = z.looseObject({
  name: z
    .string()
    .min(1)
    .max(256)
    // oxlint-disable-next-line no-control-regex
    .regex(/^[^\s\u0000-\u001f\u007f]+$/),
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

type ListedTool = z.output<typeof toolSchema>;

/** The tools of a server as the catalog keeps them; `refused` says which were left out and why. */
export function readTools(
  listed: readonly unknown[],
  server: ConfiguredServer,
  limits: SchemaLimits,
): { tools: PublishedTool[]; refused: string[] } {
  const tools = new Map<string, PublishedTool>();
  const refused: string[] = [];
  for (const raw of listed) {
    const problem = exceedsDepth(raw, limits.maxDepth + 2) ? `nested deeper than ${limits.maxDepth} levels` : undefined;
    const parsed = problem === undefined ? toolSchema.safeParse(raw) : undefined;
    if (parsed === undefined || !parsed.success) {
      refused.push(`${nameOf(raw)}: ${problem ?? 'not a tool definition'}`);
      continue;
    }
    if (!isOffered(parsed.data.name, server)) continue;
    const name = offeredName(server, parsed.data.name);
    if (tools.has(name)) refused.push(`${name}: listed twice, the first one stays`);
    else if (Buffer.byteLength(JSON.stringify(parsed.data.inputSchema)) > limits.maxBytes) {
      refused.push(`${name}: its schema is larger than ${limits.maxBytes} bytes`);
    } else tools.set(name, toPublished(parsed.data, raw, server));
  }
  return { tools: [...tools.values()], refused };
}

function toPublished(tool: ListedTool, raw: unknown, server: ConfiguredServer): PublishedTool {
  const { name, title, description, inputSchema, outputSchema, annotations = {} } = tool;
  const meta = tool._meta ?? {};
  const metadata = meta[toolMetadataMetaKey];
  const believed = server.builtin || server.trusted;
  const readOnly = believed && annotations.readOnlyHint === true;
  const idempotent = server.trusted && !server.builtin && annotations.idempotentHint === true;
  const timeoutMs =
    server.tools.timeout_ms?.[name] ?? (server.builtin ? ownTimeout(meta) : undefined) ?? server.timeoutMs;
  return {
    server: server.name,
    tool: offeredName(server, name),
    ...(title === undefined ? {} : { title }),
    description: description ?? '',
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    annotations: definedOnly(annotations),
    ...(isJsonObject(metadata) ? { metadata } : {}),
    definitionHash: canonicalHash(raw),
    safe: readOnly || idempotent || server.tools.retry?.[name] === 'safe',
    readOnly,
    ...(server.scope === 'session' ? { stateful: true } : {}),
    isolation: server.isolation,
    timeoutMs,
    maxTimeoutMs: Math.max(timeoutMs, server.maxTimeoutMs),
  };
}

function ownTimeout(meta: Record<string, unknown>): number | undefined {
  const value = meta[toolTimeoutMetaKey];
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined;
}

function definedOnly(annotations: NonNullable<ListedTool['annotations']>): PublishedTool['annotations'] {
  return Object.fromEntries(Object.entries(annotations).filter(([, value]) => value !== undefined));
}

function isOffered(name: string, { tools }: ConfiguredServer): boolean {
  return (tools.include === undefined || tools.include.includes(name)) && tools.exclude?.includes(name) !== true;
}

function nameOf(raw: unknown): string {
  const name = isJsonObject(raw) ? raw['name'] : undefined;
  return typeof name === 'string' ? name.slice(0, 100) : 'a tool without a name';
}

export class CatalogPublisher {
  constructor(
    private readonly store: CatalogStore,
    private readonly channels: Channels,
    private readonly limits: SchemaLimits,
    private readonly logger: Logger,
  ) {}

  /** @throws AppError store_unavailable */
  async publish(server: ConfiguredServer, listed: readonly unknown[]): Promise<PublishedTool[]> {
    const { tools, refused } = readTools(listed, server, this.limits);
    if (refused.length > 0) {
      this.logger.warn({ metadata: { server: server.name, refused: refused.slice(0, 50) } }, 'tools were left out');
    }
    await this.store.publish(server.name, server.order, tools);
    await this.#announce();
    return tools;
  }

  async markUnavailable(server: string): Promise<void> {
    await this.store.markUnavailable(server);
    await this.#announce();
  }

  /** Only these servers stay, in this order. @throws AppError store_unavailable */
  async retain(servers: readonly string[]): Promise<void> {
    await this.store.retain(servers);
    await this.#announce();
  }

  /** What is lost here is found by the gateways' own slow reading. */
  async #announce(): Promise<void> {
    try {
      await this.channels.publish(channelNames.catalog, '{"version":1}', AbortSignal.timeout(2_000));
    } catch (error) {
      this.logger.warn({ error }, 'a change of the catalog could not be announced');
    }
  }
}
