// The tool `fetch` of the builtin server `workspace`: returns an answer as text, or streams it to a file.
import iconv from 'iconv-lite';
import { z } from 'zod';
import { AppError } from '#libs/schemas/errors.js';
import { McpServer, McpTool } from '#libs/mcp-server/decorators.js';
import type { ToolContext } from '#libs/mcp-server/tool-context.js';
import { AddressGuard, type Lookup } from '#libs/http-client/address-guard.js';
import { findPage, keepPage, type KeptPage, withConditions } from './conditional-fetch.js';
import { GuardedRequester, type Incoming } from './guarded-request.js';

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
      const workspace = workspaceOf(context, input);
      const result = await this.result(incoming, input.save_to, { workspace, signal });
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

  private async result(incoming: Incoming, saveTo: string | undefined, context: FetchContext) {
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
      const { info } = await context.workspace!.write(saveTo, bounded(incoming.body, this.options.maxBytes), {
        createDirectories: true,
        signal: context.signal,
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
    if (incoming.status < 400 && !textType.test(type) && incoming.headers['content-length'] !== '0') {
      const first = await firstChunk(incoming.body);
      if (first?.includes(0) === true) {
        throw new AppError('tool_failed', `The answer is not text but ${type.slice(0, 100)}: use save_to`);
      }
      if (first !== undefined) incoming.body.unshift(first);
    }
    const chunks: Buffer[] = [];
    let bytes = 0;
    let truncated = false;
    for await (const chunk of incoming.body as AsyncIterable<Buffer>) {
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

function notModified({ text, structuredContent }: KeptPage) {
  return {
    content: [{ type: 'text' as const, text }],
    structuredContent: { ...structuredContent, not_modified: true },
  };
}

type FetchContext = Pick<ToolContext, 'signal'> & { workspace: ToolContext['workspace'] | undefined };

/** Reading `context.workspace` needs a session, so do so only to save a file. */
const workspaceOf = (context: ToolContext, input: { save_to?: string | undefined }) =>
  input.save_to === undefined ? undefined : context.workspace;

function sizeHint(incoming: Incoming): { sizeHint?: number } {
  const length = Number(incoming.headers['content-length']);
  return incoming.headers['content-encoding'] === undefined && Number.isSafeInteger(length) ? { sizeHint: length } : {};
}

async function firstChunk(body: Incoming['body']): Promise<Buffer | undefined> {
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) return chunk;
  return undefined;
}

async function* bounded(body: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new AppError('result_too_large', `The answer has more than ${maxBytes} bytes`);
    yield chunk;
  }
}
