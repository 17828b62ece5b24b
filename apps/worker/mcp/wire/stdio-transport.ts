// MCP over the standard streams of a process tree: bounds frames, logs and skips noise, detects a closed stdout and
// an ended process. Starts once; closing it ends the whole tree.
import { once } from 'node:events';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as delay } from 'node:timers/promises';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { CountWindow, FloodGate } from './flood-gate.js';
import type { EndGrace, ProcessExit, ToolProcess } from '../../sandbox/tool-process.js';
import type { OnServerBound, ServerBound } from './server-bound.js';
import { LineReader } from './line-reader.js';
import { readFrame } from './read-message.js';
import { maxValues, ValueCounter } from './value-counter.js';

export interface StdioOptions {
  /** @throws AppError tool_unavailable, isolation_too_low */
  start(): Promise<ToolProcess>;
  /** `fail` ends the process at once, and fails its calls with the error. */
  onStarted?: (process: ToolProcess, fail: (error: AppError) => void) => void;
  maxMessageBytes: number;
  grace: EndGrace;
  logger: Logger;
  onBound?: OnServerBound;
  /** A line of stderr, as far as it is logged. */
  onStderr?: (line: string) => void;
}

const lastWordsMs = 200;
const maxUnreadBytes = 1024 * 1024;
const logged = { lineLength: 2_000, lines: 100, windowMs: 10_000 };

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  /** Why the connection ended, if the server caused it. */
  failure?: AppError;
  /** `pid` tells the SDK that this is a pipe, where silence means an old server. */
  readonly stderr = null;
  private starting?: Promise<ToolProcess>;
  private tree?: ToolProcess;
  private over = false;
  /** Size of the line whose messages are being delivered. */
  frameBytes = 0;
  /** Answers that the server has not read. */
  private unreadBytes = 0;
  private readonly noise: BoundedLineLog;
  private readonly noiseFlood = new FloodGate();
  private readonly errors: BoundedLineLog;

  constructor(private readonly options: StdioOptions) {
    this.noise = new BoundedLineLog(options.logger, 'stdout of a tool server that is no MCP');
    this.errors = new BoundedLineLog(options.logger, 'stderr of a tool server', options.onStderr);
  }

  get pid(): number | null {
    return this.tree?.pid ?? null;
  }

  /** @throws AppError tool_unavailable */
  async start(): Promise<void> {
    if (this.over) throw crashed('was closed before it was started');
    this.starting = this.options.start();
    const tree = await this.starting;
    this.tree = tree;
    // If the transport was closed meanwhile, `close` ends the tree.
    if (this.over) throw crashed('was closed while it was started');
    this.options.onStarted?.(tree, (error) => this.end(error, atOnce));
    const lines = new LineReader({ maxBytes: this.options.maxMessageBytes }, (line) => this.read(line));
    tree.stdout.on('data', (chunk: Buffer) => {
      if (this.over || lines.feed(chunk)) return;
      this.refuse('message_bytes', `sent a message of more than ${this.options.maxMessageBytes} bytes`);
    });
    tree.stderr.on('data', (chunk: Buffer) => this.errors.feed(chunk));
    const heardOut = once(tree.stdout, 'close').catch(() => undefined);
    tree.stdout.once('end', () => void this.endOfOutput(tree));
    void tree.exited.then(async (exit) => {
      await Promise.race([heardOut, delay(lastWordsMs, undefined, { ref: false })]);
      this.fail('tool_crashed', described(exit));
    });
  }

  /** Waits while the server does not read. @throws AppError tool_crashed */
  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.tree?.stdin;
    if (stdin === undefined || this.over || !stdin.writable) throw this.failure ?? crashed('no longer reads its input');
    const line = `${JSON.stringify(message)}\n`;
    if (!('method' in message)) return this.answer(stdin, line);
    if (stdin.write(line)) return;
    const over = new AbortController();
    const wake = () => over.abort();
    stdin.once('close', wake);
    try {
      await once(stdin, 'drain', { signal: over.signal });
    } catch {
      throw this.failure ?? crashed('no longer reads its input');
    } finally {
      stdin.off('close', wake);
    }
  }

  /** Answers to the server's requests are not awaited, since a server may send requests without reading. */
  private answer(stdin: ToolProcess['stdin'], line: string): void {
    this.unreadBytes += line.length;
    stdin.write(line, () => (this.unreadBytes -= line.length));
    if (this.unreadBytes > maxUnreadBytes)
      this.refuse('unread_answers', 'sends requests and does not read the answers');
  }

  async close(): Promise<void> {
    this.finish();
    const tree = await this.starting?.catch(() => undefined);
    await tree?.end(this.options.grace);
  }

  /** Waits a moment for the exit, which explains more than the end of stdout. */
  private async endOfOutput(tree: ToolProcess): Promise<void> {
    const exit = await Promise.race([tree.exited, delay(lastWordsMs, undefined, { ref: false })]);
    this.fail('tool_crashed', exit === undefined ? 'closed its output' : described(exit));
  }

  private read(line: Buffer): void {
    if (this.over) return;
    if (line.length > maxValues && !new ValueCounter().feed(line)) {
      this.refuse('message_values', `sent a message of more than ${maxValues} values`);
      return;
    }
    this.frameBytes = line.length;
    const messages = readFrame(line);
    if (messages !== undefined) {
      for (const message of messages) this.onmessage?.(message);
      return;
    }
    this.noise.write(line.toString('utf8', 0, 4_096));
    if (!this.noiseFlood.take(line.length)) this.refuse('noise', 'wrote more output than is accepted');
  }

  private refuse(bound: ServerBound, what: string): void {
    if (!this.over) this.options.onBound?.(bound);
    const crashes = bound === 'noise' || bound === 'unread_answers';
    this.fail(crashes ? 'tool_crashed' : 'result_too_large', what);
  }

  private fail(code: 'tool_crashed' | 'result_too_large', what: string): void {
    this.end(new AppError(code, `The tool server ${what}`), this.options.grace);
  }

  private end(failure: AppError, grace: EndGrace): void {
    if (this.over) return;
    this.failure = failure;
    this.finish();
    this.tree
      ?.end(grace)
      .catch((error: unknown) => this.options.logger.error({ error }, 'a tool server is still running'));
  }

  private finish(): void {
    if (this.over) return;
    this.over = true;
    this.noise.close();
    this.errors.close();
    this.onclose?.();
  }
}

/**
 * Logs a server's output besides the protocol line by line. Bounded in length and in lines per period; the rest is
 * counted, not kept.
 */
class BoundedLineLog {
  private readonly decoder = new StringDecoder('utf8');
  private readonly written = new CountWindow(logged.windowMs);
  private line = '';
  private dropped = 0;

  constructor(
    private readonly logger: Logger,
    private readonly message: string,
    private readonly onLine: (line: string) => void = () => undefined,
  ) {}

  feed(chunk: Buffer): void {
    // The beginning of a flood is enough: the rest is not even decoded.
    if (this.written.count(0) >= logged.lines) {
      this.dropped += 1;
      return;
    }
    const lines = (this.line + this.decoder.write(chunk)).split(/\r?\n/);
    this.line = (lines.pop() ?? '').slice(0, logged.lineLength);
    for (const line of lines) this.write(line);
  }

  write(line: string): void {
    if (line.trim() === '') return;
    if (this.written.count() > logged.lines) {
      this.dropped += 1;
      return;
    }
    this.reportDropped();
    this.logger.info({ metadata: { line: line.slice(0, logged.lineLength) } }, this.message);
    this.onLine(line.slice(0, logged.lineLength));
  }

  close(): void {
    this.write(this.line);
    this.line = '';
    this.reportDropped();
  }

  private reportDropped(): void {
    if (this.dropped > 0) this.logger.warn({ metadata: { pieces: this.dropped } }, `${this.message}: left out`);
    this.dropped = 0;
  }
}

const atOnce: EndGrace = { stdinMs: 0, termMs: 0 };
const described = ({ code, signal }: ProcessExit) => `ended (${signal ?? `exit code ${code ?? 'unknown'}`})`;
const crashed = (what: string) => new AppError('tool_crashed', `The tool server ${what}`);
