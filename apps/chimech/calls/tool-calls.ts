// One call of a tool, around its handler: its rate, its client of the gateway, the metadata of its result, the form of its
// error, and what is counted of it.
import { isInputRequiredResult, type CallToolResult } from '@modelcontextprotocol/server';
import { readClaims } from '#libs/access/call-token.js';
import type { ServedResult, CallInProgress } from '#libs/mcp-server/decorators.js';
import type { ToolContext } from '#libs/mcp-server/tool-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject } from '#libs/schemas/json.js';
import { ChimechMCPError, toChimechError, type ChimechCode } from '../errors/chimech-mcp-error.js';
import { renderFailure } from '../errors/render-failure.js';
import { CallApiClient } from '../api/api-client.js';
import type { GatewayClient } from '../api/gateway.js';
import { languageOfArguments, say, type Language } from '../language.js';
import type { CallRate } from './call-rate.js';
import type { ChimechContext } from './chimech-context.js';

export interface FinishedCall {
  tool: string;
  outcome: 'ok' | 'error' | 'cancelled';
  /** Of an error. */
  code?: ChimechCode;
  durationMs: number;
  /** Time that the gateway took of it. */
  gatewayMs: number;
  tokensUsed: number;
}

interface RunningCall {
  tool: string;
  language: Language;
  client: CallApiClient;
}

export class ToolCalls {
  private readonly running = new WeakMap<ToolContext, RunningCall>();

  constructor(
    private readonly parts: { gateway: GatewayClient; rate: CallRate; onEnd: (call: FinishedCall) => void },
  ) {}

  async around(
    { tool, arguments: args, context }: CallInProgress,
    run: () => Promise<ServedResult>,
  ): Promise<ServedResult> {
    const startedAt = performance.now();
    const language = languageOfArguments(args);
    const { signal, requestId, callToken: token } = context;
    const client = new CallApiClient(this.parts.gateway, { signal, language, requestId, token });
    this.running.set(context, { tool, language, client });
    const ended = (outcome: FinishedCall['outcome'], code?: ChimechCode) => {
      const durationMs = performance.now() - startedAt;
      const { waitedMs: gatewayMs, tokensUsed } = client;
      const call = { tool, outcome, durationMs, gatewayMs, tokensUsed };
      this.parts.onEnd(code === undefined ? call : { ...call, code });
      return Math.round(durationMs);
    };
    try {
      const result = await run();
      const processingTime = ended('ok');
      if (isInputRequiredResult(result)) return result;
      return withMetadata(result, {
        ...(client.tokensUsed === 0 ? {} : { tokensUsed: client.tokensUsed }),
        processingTime,
      });
    } catch (error) {
      if (error instanceof AppError && error.code === 'cancelled') {
        ended('cancelled');
        throw error;
      }
      const shown = toChimechError(error, tool, language);
      return renderFailure(shown, { tool, language, processingTime: ended('error', shown.code) });
    }
  }

  /** @throws ChimechMCPError RATE_LIMIT */
  admit(context: ToolContext): void {
    const wait = this.parts.rate.enter(context.userId);
    if (wait === 0) return;
    const texts = { en: `Too many calls, wait ${wait} s`, zh: `调用过于频繁，请等待 ${wait} 秒` };
    const { language } = this.callOf(context);
    throw new ChimechMCPError(say(language, texts), 'RATE_LIMIT', undefined, { retryAfterSeconds: wait });
  }

  /** For a handler, of the context that it was given. */
  contextOf(context: ToolContext): ChimechContext {
    const { tool, language, client } = this.callOf(context);
    const { requestId, userId, sessionId, logger, signal, reportProgress, cache } = context;
    // A worker shows one key for all its callers. Who only says to be one learns nothing: a gateway answers no false token.
    const caller = context.callToken === undefined ? '' : (readClaims(context.callToken)?.principal ?? '');
    const own = (key: string) => `${tool}:${caller}:${key}`;
    return {
      requestId,
      userId,
      ...(sessionId === undefined ? {} : { sessionId }),
      language,
      apiClient: client,
      logger,
      cache: {
        get: (key) => cache.get(own(key)),
        set: (key, value, ttlMs) => cache.set(own(key), value, ttlMs),
        delete: (key) => cache.delete(own(key)),
      },
      signal,
      progress: reportProgress,
    };
  }

  private callOf(context: ToolContext): RunningCall {
    const call = this.running.get(context);
    if (call === undefined) throw new Error('a context of no call that runs');
    return call;
  }
}

/** In the structured content, and at the top level for callers of the older form. */
function withMetadata(result: CallToolResult, more: object): CallToolResult {
  const structured = isJsonObject(result.structuredContent) ? result.structuredContent : {};
  const metadata = { ...(isJsonObject(structured['metadata']) ? structured['metadata'] : {}), ...more };
  const { analysis } = structured;
  return {
    ...result,
    structuredContent: { ...structured, metadata },
    metadata,
    ...(analysis === undefined ? {} : { analysis }),
  };
}
