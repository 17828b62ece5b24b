// The tool `fetch` of the builtin server `workspace`: returns an answer as text, or streams it to a file.
import iconv from 'iconv-lite';
import { z } from 'zod';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import { parsedJsonObject } from '#libs/schemas/content-block.js';
import { AppError } from '#libs/schemas/errors.js';
import { jsonObjectOf } from '#libs/schemas/json.js';
import { McpServer, McpTool } from '#libs/mcp-server/decorators.js';
import type { ToolCache, ToolContext } from '#libs/mcp-server/tool-context.js';
import { AddressGuard, type Lookup } from '#libs/http-client/address-guard.js';
import { GuardedRequester, type Incoming, type OutgoingRequest } from './guarded-request.js';

export interface FetchOptions {
  /** Private hosts, host:port or CIDR ranges that are allowed. */
  allow: readonly string[];
  /** Longer answers are cut. */
  maxTextBytes: number;
  /** Longer downloads fail. */
  maxBytes: number;
  timeoutMs: number;
  /** Resolves names; default: the system's resolver. */
  lookup?: Lookup;
}

const fetchInput = z.object({
  url: z.string().min(1).max(8_192).describe('http or https'),
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']).default('GET'),
  headers: z.record(z.string(), z.string()).default({}),
  body: z.string().optional(),
  save_to: z.string().min(1).optional().describe('Save the answer to this file instead of returning it'),
});

const textType = /^(text\/|application\/([a-z0-9.-]+\+)?(json|xml|javascript|yaml|x-ndjson|x-www-form-urlencoded))/i;
const shownErrorLength = 2_000;

/**
 * A page that was read before, kept with its validators (RFC 9110, 13): the next fetch asks whether it has changed, and a 304 is
 * answered with it. No kept page is used without asking the upstream first.
 */
const keptPage = z.object({
  /** The address after redirects, since a validator belongs to one address. */
  url: z.string(),
  etag: z.string().optional(),
  lastModified: z.string().optional(),
  text: z.string(),
  structuredContent: parsedJsonObject,
});
type KeptPage = z.infer<typeof keptPage>;

const keptMs = 24 * 3_600_000;
const maxTextLength = 128 * 1024;

/** Requests with conditional headers of the caller are not answered from kept pages. */
const ownConditions = /^(?:if-.*|range|cache-control|pragma)$/i;

@McpServer({ name: 'workspace' })
export class FetchTool {
  private readonly requester: GuardedRequester;

  constructor(private readonly options: FetchOptions) {
    this.requester = new GuardedRequester(new AddressGuard(options.allow, options.lookup));
  }

  @McpTool({
    name: 'fetch',
    title: 'Fetch a URL',
    description: 'Fetch a web address. Returns the text of the answer, or saves it to a file of the workspace.',
    input: fetchInput,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    readOnlyWhen: { method: ['GET', 'HEAD'], save_to: [] },
    sessionless: true,
  })
  async fetch(input: z.output<typeof fetchInput>, context: ToolContext) {
    const timeout = AbortSignal.timeout(this.options.timeoutMs);
    const signal = AbortSignal.any([context.signal, timeout]);
    let incoming: Incoming | undefined;
    try {
      const kept = input.save_to === undefined ? await findPage(context.cache, input) : undefined;
      incoming = await this.requester.send(kept === undefined ? input : withConditions(input, kept), signal);
      if (kept !== undefined && incoming.status === 304) {
        if (incoming.url === kept.url) return notModified(kept);
        incoming.close();
        incoming = await this.requester.send(input, signal);
      }
      const result = await this.result(incoming, input.save_to, context, signal);
      const { structuredContent, content } = result;
      if (incoming.status === 200 && 'truncated' in structuredContent && !structuredContent.truncated) {
        await keepPage(context.cache, input, incoming, { text: content[0]!.text, structuredContent });
      }
      return result;
    } catch (error) {
      if (timeout.aborted && !context.signal.aborted) {
        throw new AppError('tool_timeout', `No complete answer within ${this.options.timeoutMs} ms`);
      }
      if (error instanceof AppError || signal.aborted) throw error;
      throw new AppError('tool_failed', 'The answer was cut off or could not be decoded', { cause: error });
    } finally {
      incoming?.close();
    }
  }

  private async result(incoming: Incoming, saveTo: string | undefined, context: ToolContext, signal: AbortSignal) {
    const type = incoming.headers['content-type'] ?? 'application/octet-stream';
    const facts = { status: incoming.status, url: incoming.url, content_type: type };
    if (incoming.status >= 400) {
      const { text } = await this.text(incoming, type);
      throw new AppError(
        'tool_failed',
        `HTTP ${incoming.status} of ${incoming.url}\n${text.slice(0, shownErrorLength)}`,
      );
    }
    if (saveTo !== undefined) {
      // Only a saved file needs the session's workspace.
      const { info } = await context.workspace.write(saveTo, bounded(incoming.body, this.options.maxBytes), {
        createDirectories: true,
        signal,
        ...sizeHint(incoming),
      });
      return {
        content: [{ type: 'text' as const, text: `Saved ${info.size} bytes to ${saveTo}` }],
        structuredContent: { ...facts, bytes: info.size, saved_to: saveTo },
      };
    }
    const { text, bytes, truncated } = await this.text(incoming, type);
    const content = [{ type: 'text' as const, text }];
    if (truncated) content.push({ type: 'text', text: `[cut after ${bytes} bytes: use save_to to get all of it]` });
    return { content, structuredContent: { ...facts, bytes, truncated } };
  }

  /** Reads as much as a result may contain. */
  private async text(incoming: Incoming, type: string): Promise<{ text: string; bytes: number; truncated: boolean }> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let truncated = false;
    for await (const chunk of incoming.body as AsyncIterable<Buffer>) {
      if (bytes === 0 && incoming.status < 400 && !textType.test(type) && chunk.includes(0)) {
        throw new AppError('tool_failed', `The answer is not text but ${type.slice(0, 100)}: use save_to`);
      }
      const room = this.options.maxTextBytes - bytes;
      truncated = chunk.length > room;
      chunks.push(truncated ? chunk.subarray(0, room) : chunk);
      bytes += Math.min(chunk.length, room);
      if (truncated) break;
    }
    const charset = /charset="?([^\s;"]+)/i.exec(type)?.[1] ?? 'utf-8';
    const text = iconv.decode(Buffer.concat(chunks), iconv.encodingExists(charset) ? charset : 'utf-8');
    return { text, bytes, truncated };
  }
}

const isConditional = ({ method, headers }: OutgoingRequest): boolean =>
  method === 'GET' && !Object.keys(headers).some((name) => ownConditions.test(name));

const keyOf = ({ url, headers }: OutgoingRequest): string => `page:${canonicalHash([url, headers])}`;

/** A cache that is away keeps nothing and fails nothing. */
async function findPage(cache: ToolCache, request: OutgoingRequest): Promise<KeptPage | undefined> {
  if (!isConditional(request)) return undefined;
  const text = await cache.get(keyOf(request)).catch(() => undefined);
  const read = keptPage.safeParse(text === undefined ? undefined : jsonObjectOf(text));
  return read.success ? read.data : undefined;
}

function withConditions(request: OutgoingRequest, { etag, lastModified }: KeptPage): OutgoingRequest {
  const conditions = {
    ...(etag === undefined ? {} : { 'if-none-match': etag }),
    ...(lastModified === undefined ? {} : { 'if-modified-since': lastModified }),
  };
  return { ...request, headers: { ...request.headers, ...conditions } };
}

async function keepPage(
  cache: ToolCache,
  request: OutgoingRequest,
  { url, headers }: Pick<Incoming, 'url' | 'headers'>,
  page: Pick<KeptPage, 'text' | 'structuredContent'>,
): Promise<void> {
  const { etag, 'last-modified': lastModified, 'cache-control': control = '' } = headers;
  if (!isConditional(request) || page.text.length > maxTextLength || /\bno-store\b/i.test(control)) return;
  if (etag === undefined && lastModified === undefined) return;
  const kept: KeptPage = { url, ...page, ...(etag && { etag }), ...(lastModified && { lastModified }) };
  await cache.set(keyOf(request), JSON.stringify(kept), keptMs).catch(() => undefined);
}

function notModified({ text, structuredContent }: KeptPage) {
  return {
    content: [{ type: 'text' as const, text }],
    structuredContent: { ...structuredContent, not_modified: true },
  };
}

function sizeHint(incoming: Incoming): { sizeHint?: number } {
  const length = Number(incoming.headers['content-length']);
  return incoming.headers['content-encoding'] === undefined && Number.isSafeInteger(length) ? { sizeHint: length } : {};
}

async function* bounded(body: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new AppError('result_too_large', `The answer has more than ${maxBytes} bytes`);
    yield chunk;
  }
}
