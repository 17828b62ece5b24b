// The client of one gateway.
import type { Model } from './answers.js';
import type { ChatCompletion, ChatRequest } from './chat-types.js';
import { ConnectionResource } from './servers/connection-resource.js';
import { type CallOptions, type ClientOptions, Http, type KeyedCallOptions, longCallMs, makeKey } from './http.js';
import { OfferResource } from './servers/offers.js';
import { Operations } from './operations.js';
import { ApprovalResource, FileResource, RunResource, SessionResource, ToolResource } from './resources.js';
import { TurnStream } from './turn-stream.js';

export interface ChatOptions extends KeyedCallOptions {
  /**
   * False: a chat that breaks off is neither repeated nor continued, and the gateway cancels it when its caller
   * disconnects. Then a chat without server tools leaves nothing in the gateway's database.
   */
  resume?: boolean;
}

export class Signalbox {
  readonly runs: RunResource;
  readonly approvals: ApprovalResource;
  readonly sessions: SessionResource;
  readonly files: FileResource;
  readonly tools: ToolResource;
  readonly connections: ConnectionResource;
  readonly offers: OfferResource;
  readonly operations: Operations;
  private readonly http: Http;

  constructor(options: ClientOptions) {
    this.http = new Http(options);
    this.runs = new RunResource(this.http);
    this.approvals = new ApprovalResource(this.http);
    this.sessions = new SessionResource(this.http);
    this.files = new FileResource(this.http);
    this.tools = new ToolResource(this.http);
    this.connections = new ConnectionResource(this.http);
    this.offers = new OfferResource(this.http);
    this.operations = new Operations(this.http);
  }

  /** One turn, with its whole answer at the end. */
  chat(request: ChatRequest, { idempotencyKey, resume = true, ...options }: ChatOptions = {}): Promise<ChatCompletion> {
    return this.http.json(
      {
        method: 'POST',
        path: chatPath,
        json: request,
        idempotencyKey: idempotencyKey ?? (resume ? makeKey() : undefined),
        timeoutMs: longCallMs,
      },
      options,
    );
  }

  /**
   * One turn, event by event. The request is sent when the events are read. Aborting, or leaving the loop, cancels the turn
   * unless the request says `on_disconnect: 'detach'`. `timeoutMs` does not apply: see `ClientOptions.idleTimeoutMs`.
   */
  stream(request: ChatRequest, { idempotencyKey, resume = true, signal }: ChatOptions = {}): TurnStream {
    const kept = request.on_disconnect ?? (resume ? 'detach' : undefined);
    const start = {
      method: 'POST' as const,
      path: chatPath,
      json: { ...request, stream: true, ...(kept === undefined ? {} : { on_disconnect: kept }) },
      idempotencyKey: idempotencyKey ?? (resume ? makeKey() : undefined),
      headers: { accept: 'text/event-stream' },
    };
    const cancel = kept === 'detach' && request.on_disconnect === undefined;
    return new TurnStream(this.http, { start, resume, cancel }, signal);
  }

  /** The models and aliases that a request may name. */
  async models(options?: CallOptions): Promise<Model[]> {
    return (await this.http.json<{ data: Model[] }>({ method: 'GET', path: '/v1/models' }, options)).data;
  }
}

const chatPath = '/api/chat/completions';
