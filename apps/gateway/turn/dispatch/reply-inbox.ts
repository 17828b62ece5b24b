// Passes the messages of this gateway's one reply channel on by call id. A reply that nobody waits for is dropped.
import type { Channels } from '#libs/backing/channels.js';
import type { Logger } from '#libs/logging/logger.js';
import { parseJson } from '#libs/schemas/json.js';
import { channelNames, toolReplyMessageSchema, toolReplySchema, type ToolReply } from '#libs/schemas/tool-job.js';

export interface ReplyListener {
  reply(reply: ToolReply): void;
  /** Called when messages may have been lost: the journal must be read. */
  gap(): void;
}

export class ReplyInbox {
  private readonly listeners = new Map<string, ReplyListener>();
  private stops: (() => unknown)[] = [];

  constructor(
    private readonly channels: Channels,
    private readonly gatewayId: string,
    private readonly logger: Logger,
  ) {}

  async start(): Promise<void> {
    this.stops.push(this.channels.onReconnect(() => this.reportGap()));
    this.stops.push(
      await this.channels.subscribe(channelNames.replies(this.gatewayId), (message) => this.receive(message)),
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.stops.map((stop) => stop()));
    this.stops = [];
  }

  /** Call it before the job is added. Returns a function that stops listening. */
  listen(callId: string, listener: ReplyListener): () => void {
    this.listeners.set(callId, listener);
    return () => {
      if (this.listeners.get(callId) === listener) this.listeners.delete(callId);
    };
  }

  private reportGap(): void {
    for (const listener of this.listeners.values()) listener.gap();
  }

  private receive(message: string): void {
    const parsed = toolReplyMessageSchema.safeParse(parseJson(message));
    if (!parsed.success) {
      this.logger.warn({ metadata: { bytes: message.length } }, 'a tool reply of an unknown shape was ignored');
      return;
    }
    for (const each of parsed.data.replies) {
      const { data: reply } = toolReplySchema.safeParse(each);
      if (reply !== undefined) this.listeners.get(reply.callId)?.reply(reply);
    }
  }
}
