// The server's side of HTTP+SSE, the transport of 2024: one stream for everything it sends, and messages posted to it.
// Knows web streams only; its user decides who may open one, and how many.
//
// The official client drops progress that it reads together with the result (SDK 1.x, EventSource: the result of one
// chunk overtakes it). So a result that follows progress waits until the client has answered a ping in between.
import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type MessageExtraInfo,
  type RequestId,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/server';

/** A client that does not answer a ping within this time gets no more pings. */
const readMs = 1_000;

export class SseTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;
  readonly body: ReadableStream<Uint8Array>;
  private readonly encoder = new TextEncoder();
  private readonly unanswered = new Map<string | number, { method: string; onEnd: () => void }>();
  private readonly progressed = new Set<RequestId>();
  private readonly asked = new Map<RequestId, () => void>();
  private pings = 0;
  private answersPings = true;
  private stream!: ReadableStreamDefaultController<Uint8Array>;
  private closed = false;

  /** `messagesPath`: where the client must post. */
  constructor(
    readonly sessionId: string,
    private readonly messagesPath: string,
  ) {
    // Buffer nothing ahead of the reader, so that the queue holds exactly the unread bytes.
    const strategy = { highWaterMark: 0, size: (bytes?: Uint8Array) => bytes?.byteLength ?? 0 };
    this.body = new ReadableStream<Uint8Array>({ start: (stream) => void (this.stream = stream) }, strategy);
  }

  /** Bytes that were sent to the client and not read yet. */
  get unreadBytes(): number {
    return this.closed ? 0 : -this.stream.desiredSize!;
  }

  async start(): Promise<void> {
    this.write('endpoint', this.messagesPath);
  }

  /** Passes on a posted message. `onEnd`: called once, when a request has its answer or will get none. */
  receive(message: JSONRPCMessage, request: Request, onEnd: () => void): void {
    const read = isAnswer(message) && message.id !== undefined ? this.asked.get(message.id) : undefined;
    if (read !== undefined) {
      read();
      onEnd();
      return;
    }
    if (isJSONRPCRequest(message)) this.unanswered.set(message.id, { method: message.method, onEnd });
    this.onmessage?.(message, { request });
    if (isJSONRPCRequest(message)) return;
    if ('method' in message && message.method === 'notifications/cancelled') {
      const id = message.params?.['requestId'] as string | number;
      // A call reports itself when it has stopped; any other cancelled request is over.
      if (this.unanswered.get(id)?.method !== 'tools/call') this.leaveUnanswered(id);
    }
    onEnd();
  }

  /** Ends a cancelled request without an answer. */
  leaveUnanswered(id: string | number): void {
    const request = this.unanswered.get(id);
    this.progressed.delete(id);
    this.unanswered.delete(id);
    request?.onEnd();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!isAnswer(message) || message.id === undefined) {
      this.write('message', JSON.stringify(message));
      const progress = 'method' in message && message.method === 'notifications/progress';
      if (progress && options?.relatedRequestId !== undefined) this.progressed.add(options.relatedRequestId);
      return;
    }
    if (this.progressed.delete(message.id) && this.answersPings) await this.untilRead();
    this.write('message', JSON.stringify(message));
    this.leaveUnanswered(message.id);
  }

  /** Resolves when the client has read what was sent so far, or cannot confirm it. */
  private async untilRead(): Promise<void> {
    const id = `read-${(this.pings += 1)}`;
    await new Promise<void>((resolve) => {
      const late = setTimeout(() => {
        this.answersPings = false;
        settle();
      }, readMs);
      const settle = () => {
        clearTimeout(late);
        this.asked.delete(id);
        resolve();
      };
      this.asked.set(id, settle);
      this.write('message', JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' }));
    });
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    try {
      this.stream.close();
    } catch {
      // The reader has already disconnected.
    }
    for (const settle of this.asked.values()) settle();
    for (const id of this.unanswered.keys()) this.leaveUnanswered(id);
    this.onclose?.();
  }

  private write(event: string, data: string): void {
    if (!this.closed) this.stream.enqueue(this.encoder.encode(`event: ${event}\ndata: ${data}\n\n`));
  }
}

const isAnswer = (message: JSONRPCMessage) => isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
