// Replies to gateways: those of one tick in one message, split to the channel's limit. `started` waits a moment
// for the outcome. A lost reply is harmless: the journal has the outcome, and the gateway polls it.
import type { Channels } from '#libs/backing/channels.js';
import type { Logger } from '#libs/logging/logger.js';
import { channelNames, type ToolReply } from '#libs/schemas/tool-job.js';

/** How long `started` waits for a reply that it can be sent with. */
const startedHoldMs = 10;
const envelopeBytes = 64;

export class ReplySender {
  /** Serialised replies of this tick, by gateway. */
  private pending = new Map<string, string[]>();
  private scheduled = false;
  private held?: NodeJS.Timeout | undefined;
  private readonly publishing = new Set<Promise<void>>();

  constructor(
    private readonly channels: Channels,
    private readonly logger: Logger,
  ) {}

  send(gatewayId: string, reply: ToolReply): void {
    const text = this.fit(reply);
    if (text === undefined) return;
    const replies = this.pending.get(gatewayId);
    if (replies === undefined) this.pending.set(gatewayId, [text]);
    else replies.push(text);
    if (this.scheduled) return;
    if (reply.kind === 'started') {
      this.held ??= setTimeout(() => this.flush(), startedHoldMs);
      return;
    }
    this.scheduled = true;
    process.nextTick(() => this.flush());
  }

  /** Resolves when everything sent so far is published or lost. */
  async settle(): Promise<void> {
    this.flush();
    await Promise.all(this.publishing);
  }

  /** Too large an outcome is sent as a reference, too large a progress message without its text. */
  private fit(reply: ToolReply): string | undefined {
    const room = this.channels.maxMessageBytes - envelopeBytes;
    const text = JSON.stringify(reply);
    if (Buffer.byteLength(text) <= room) return text;
    if (reply.kind === 'outcome') return JSON.stringify({ kind: 'outcome', callId: reply.callId } satisfies ToolReply);
    if (reply.kind !== 'progress') return undefined;
    const { message: _tooLong, ...rest } = reply;
    return JSON.stringify(rest);
  }

  private flush(): void {
    this.scheduled = false;
    clearTimeout(this.held);
    this.held = undefined;
    const pending = this.pending;
    this.pending = new Map();
    for (const [gatewayId, replies] of pending) {
      for (const message of this.messages(replies)) this.publish(gatewayId, message);
    }
  }

  private *messages(replies: readonly string[]): Generator<string> {
    const room = this.channels.maxMessageBytes - envelopeBytes;
    let batch: string[] = [];
    let bytes = 0;
    for (const reply of replies) {
      const size = Buffer.byteLength(reply) + 1;
      if (batch.length > 0 && bytes + size > room) {
        yield envelope(batch);
        batch = [];
        bytes = 0;
      }
      batch.push(reply);
      bytes += size;
    }
    if (batch.length > 0) yield envelope(batch);
  }

  private publish(gatewayId: string, message: string): void {
    const publishing = this.channels
      .publish(channelNames.replies(gatewayId), message)
      .catch((error: unknown) => this.logger.warn({ error }, 'a reply could not be sent, the gateway will look itself'))
      .finally(() => this.publishing.delete(publishing));
    this.publishing.add(publishing);
  }
}

const envelope = (replies: readonly string[]): string => `{"version":1,"replies":[${replies.join(',')}]}`;
