// Log messages that a server sends during a call, for the call's caller. Bounded in size; the transport bounds their number.
import { type Client, LOG_LEVEL_META_KEY } from '@modelcontextprotocol/client';
import type { JsonObject } from '#libs/schemas/json.js';
import { type ToolLog, toolLogLevels, type ToolLogLevel, toolLogSchema } from '#libs/schemas/tool-job.js';

const maxDataLength = 2_000;
const maxLoggerLength = 200;
const setLevelTimeoutMs = 5_000;

/** Undefined if it cannot be read, or is less severe than wanted. */
export function readServerLog(params: unknown, wanted: ToolLogLevel): ToolLog | undefined {
  const { data: log } = toolLogSchema.safeParse(params);
  if (log === undefined || toolLogLevels.indexOf(log.level) < toolLogLevels.indexOf(wanted)) return undefined;
  const text = JSON.stringify(log.data);
  return {
    level: log.level,
    ...(log.logger === undefined ? {} : { logger: log.logger.slice(0, maxLoggerLength) }),
    data: text.length > maxDataLength ? `${text.slice(0, maxDataLength)}…` : log.data,
  };
}

/** What the `_meta` of a call's request has at least. */
export type RequestMeta = JsonObject & { progressToken: string };

/** Tells a server which messages a call wants: since 2026-07-28 in the request, before with a level of the whole connection. */
export class LogLevels {
  private level: ToolLogLevel | undefined;

  constructor(private readonly client: Client) {}

  /** What the request's `_meta` needs. */
  metaOf(wanted: ToolLogLevel | undefined): JsonObject {
    return wanted === undefined || this.client.getProtocolEra() !== 'modern' ? {} : { [LOG_LEVEL_META_KEY]: wanted };
  }

  /** Lowers the level of an older server. Undefined if there is nothing to do. A refusal changes nothing. */
  lower(wanted: ToolLogLevel | undefined, signal: AbortSignal): Promise<void> | undefined {
    if (wanted === undefined || this.client.getProtocolEra() === 'modern') return undefined;
    if (this.client.getServerCapabilities()?.logging === undefined) return undefined;
    const { level } = this;
    if (level !== undefined && toolLogLevels.indexOf(level) <= toolLogLevels.indexOf(wanted)) return undefined;
    this.level = wanted;
    const request = { method: 'logging/setLevel', params: { level: wanted } } as const;
    return this.client.request(request, { signal, timeout: setLevelTimeoutMs }).then(
      () => undefined,
      () => undefined,
    );
  }
}
