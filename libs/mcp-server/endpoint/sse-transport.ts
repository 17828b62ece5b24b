// The server's side of HTTP+SSE, the transport of 2024: one stream that tells everything, and messages posted beside it.
// Knows web streams only; who may open one, and how many there are, is not its business.
import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type MessageExtraInfo,
  type Transport,
} from '@modelcontextprotocol/server';

export class SseTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;
  /** What the client reads. */
  readonly body: ReadableStream<Uint8Array>;
  readonly #encoder = new TextEncoder();
  readonly #unanswered = new Map<string | number, { method: string; onEnd: () => void }>();
  #stream!: ReadableStreamDefaultController<Uint8Array>;
  #closed = false;

  /** `messagesPath`: where the client is told to post. */
  constructor(
    readonly sessionId: string,
    private readonly messagesPath: string,
  ) {
    // Nothing is read ahead of the reader: what is in the queue is what it has not taken.
    const strategy = { highWaterMark: 0, size: (bytes?: Uint8Array) => bytes?.byteLength ?? 0 };
    this.body = new ReadableStream<Uint8Array>({ start: (stream) => void (this.#stream = stream) }, strategy);
  }

  /** Bytes that the client has been sent and has not read. */
  get unreadBytes(): number {
    return this.#closed ? 0 : -this.#stream.desiredSize!;
  }

  async start(): Promise<void> {
    this.#write('endpoint', this.messagesPath);
  }

  /** Hands on a posted message. `onEnd`: called once, when a request has its answer or will have none. */
  receive(message: JSONRPCMessage, request: Request, onEnd: () => void): void {
    if (isJSONRPCRequest(message)) this.#unanswered.set(message.id, { method: message.method, onEnd });
    this.onmessage?.(message, { request });
    if (isJSONRPCRequest(message)) return;
    if ('method' in message && message.method === 'notifications/cancelled') {
      const id = message.params?.['requestId'] as string | number;
      // A call says itself when it has stopped; whatever else is cancelled is over.
      if (this.#unanswered.get(id)?.method !== 'tools/call') this.leaveUnanswered(id);
    }
    onEnd();
  }

  /** For a request that was cancelled: nobody waits for an answer. */
  leaveUnanswered(id: string | number): void {
    const request = this.#unanswered.get(id);
    this.#unanswered.delete(id);
    request?.onEnd();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#write('message', JSON.stringify(message));
    const answers = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
    if (answers && message.id !== undefined) this.leaveUnanswered(message.id);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    try {
      this.#stream.close();
    } catch {
      // Its reader has left already.
    }
    for (const id of this.#unanswered.keys()) this.leaveUnanswered(id);
    this.onclose?.();
  }

  #write(event: string, data: string): void {
    if (!this.#closed) this.#stream.enqueue(this.#encoder.encode(`event: ${event}\ndata: ${data}\n\n`));
  }
}
