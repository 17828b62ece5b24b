// MCP messages between standard input and output and a Streamable HTTP server. A server that has forgotten the session
// (it was restarted) is greeted again, unseen by the client, whose workspace stays the same.
import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { whyUnreachable } from '#libs/http-client/why-unreachable.js';
import { callMetaKeys } from '#libs/mcp-server/call-meta.js';
import { mintSessionId } from '#libs/schemas/identifiers.js';

const closeMs = 1_000;
const initialized: JSONRPCMessage = { jsonrpc: '2.0', method: 'notifications/initialized' };

export class StdioBridge {
  private readonly client = new StdioServerTransport();
  private server: StreamableHTTPClientTransport;
  /** Requests that wait for their answer; 2026-07-28 cancels them by closing their stream. */
  private readonly open = new Map<string | number, AbortController>();
  private readonly sessionId = mintSessionId();
  /** What a client from before 2026 said first. */
  private greeting: JSONRPCRequest | undefined;
  private regreeting: Promise<void> | undefined;
  private greeted: (() => void) | undefined;
  private whenIdle: (() => void) | undefined;
  /** The client has closed its side. */
  readonly ended: Promise<void>;

  constructor(
    private readonly address: URL,
    private readonly key?: string,
  ) {
    this.server = this.connect();
    this.ended = new Promise((resolve) => process.stdin.once('close', resolve).once('end', resolve));
  }

  async start(): Promise<void> {
    Object.assign(this.client, {
      onmessage: (message: JSONRPCMessage) => void this.toServer(message),
      onerror: (error: Error) => console.error(error.message),
    });
    await this.server.start();
    await this.client.start();
  }

  /** Resolves when every request has its answer. */
  async idle(): Promise<void> {
    if (this.open.size > 0) await new Promise<void>((resolve) => (this.whenIdle = resolve));
  }

  async close(): Promise<void> {
    const left = this.server.sessionId === undefined ? undefined : this.server.terminateSession();
    const patience = new Promise((resolve) => setTimeout(resolve, closeMs).unref());
    await Promise.race([left?.catch(() => undefined), patience]);
    await Promise.all([this.server.close(), this.client.close()]);
  }

  private connect(): StreamableHTTPClientTransport {
    const server = new StreamableHTTPClientTransport(
      this.address,
      this.key === undefined ? {} : { requestInit: { headers: { authorization: `Bearer ${this.key}` } } },
    );
    Object.assign(server, {
      onmessage: (message: JSONRPCMessage) => this.toClient(message),
      // Each failed request is answered where it was sent.
      onerror: () => undefined,
    });
    return server;
  }

  private toClient(message: JSONRPCMessage): void {
    if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) {
      if (message.id === this.greeting?.id && isJSONRPCResultResponse(message)) {
        const { protocolVersion } = message.result;
        if (typeof protocolVersion === 'string') this.server.setProtocolVersion(protocolVersion);
        const again = this.greeted;
        again?.();
        if (again !== undefined) return;
      }
      if (message.id !== undefined) this.open.delete(message.id);
    }
    // Not by the transport: it closes itself with its input, and what was asked before still has a moment to be answered.
    process.stdout.write(`${JSON.stringify(message)}\n`);
    if (this.open.size === 0) this.whenIdle?.();
  }

  private async toServer(message: JSONRPCMessage): Promise<void> {
    if (isJSONRPCRequest(message) && message.method === 'initialize') this.greeting = message;
    if (this.cancels(message)) return;
    const sent = this.withWorkspace(message);
    const cancel = new AbortController();
    if (isJSONRPCRequest(sent)) this.open.set(sent.id, cancel);
    const fail = (error: unknown) => {
      if (!isJSONRPCRequest(sent) || this.open.get(sent.id) !== cancel) return;
      this.toClient({ jsonrpc: '2.0', id: sent.id, error: errorOf(error, this.address) });
    };
    const onRequestStreamEnd = () => fail(new Error('it closed the stream in the middle of the request'));
    await this.send(sent, { requestSignal: cancel.signal, onRequestStreamEnd }).catch(fail);
  }

  private async send(message: JSONRPCMessage, options: TransportSendOptions): Promise<void> {
    await this.regreeting;
    const { sessionId } = this.server;
    try {
      await this.server.send(message, options);
    } catch (error) {
      const lost = error instanceof SdkHttpError && error.status === 404 && sessionId !== undefined;
      if (!lost || this.greeting === undefined) throw error;
      if (this.server.sessionId === sessionId) this.regreeting ??= this.greetAgain(this.greeting);
      await this.regreeting;
      await this.server.send(message, options);
    }
  }

  private async greetAgain(greeting: JSONRPCRequest): Promise<void> {
    try {
      await this.server.close();
      this.server = this.connect();
      await this.server.start();
      const greeted = new Promise<void>((resolve) => (this.greeted = resolve));
      await this.server.send(greeting);
      await greeted;
      await this.server.send(initialized);
    } finally {
      this.greeted = undefined;
      this.regreeting = undefined;
    }
  }

  /** True where closing the request's stream said it. */
  private cancels(message: JSONRPCMessage): boolean {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return false;
    const id = message.params?.['requestId'] as string | number;
    const open = this.open.get(id);
    this.open.delete(id);
    if (this.greeting !== undefined) return false;
    open?.abort();
    return true;
  }

  private withWorkspace(message: JSONRPCMessage): JSONRPCMessage {
    if (!isJSONRPCRequest(message) || message.method !== 'tools/call') return message;
    const meta = { [callMetaKeys.sessionId]: this.sessionId, ...message.params?._meta };
    return { ...message, params: { ...message.params, _meta: meta } };
  }
}

/** What the gateway said, where it said it as JSON-RPC. */
function errorOf(error: unknown, address: URL): { code: number; message: string; data?: unknown } {
  try {
    const text = error instanceof SdkHttpError ? error.data['text'] : undefined;
    const said = (JSON.parse(String(text)) as { error: { code: number; message: string } }).error;
    if (typeof said.code === 'number' && typeof said.message === 'string') return said;
  } catch {
    // No answer of the gateway's.
  }
  return {
    code: -32_603,
    message: `The gateway cannot be reached at ${address.origin}: ${whyUnreachable(error)}.`,
  };
}
