// Replies to gateways: those of one tick in one message, split to the channel's limit. `started` waits a moment
// for the outcome. A lost reply is harmless: the journal has the outcome, and the gateway polls it.
import type { Channels } from '#libs/backing/channels.js';
import { Batch } from '#libs/concurrency/batch.js';
import type { Logger } from '#libs/logging/logger.js';
import { channelNames, type ToolReply } from '#libs/schemas/tool-job.js';
import { storeUnavailable } from '#libs/store-error/store-error.js';

/** How long `started` waits for a reply that it can be sent with. */
const startedHoldMs = 10;
const envelopeBytes = 64;

/** Maximum replies of one tick. A gateway that misses a reply reads the journal. */
const maxWaiting = 20_000;

interface Addressed {
  gatewayId: string;
  /** The serialised reply. */
  text: string;
  bytes: number;
}

export class ReplySender {
  private readonly batch: Batch<Addressed>;
  private readonly held: Addressed[] = [];
  private holding?: NodeJS.Timeout | undefined;

  constructor(
    private readonly channels: Channels,
    private readonly logger: Logger,
  ) {
    this.batch = new Batch({
      flush: (replies) => this.publish(replies),
      schedule: process.nextTick,
      oneByOne: false,
      maxSize: this.room,
      sizeOf: ({ bytes }) => bytes + 1,
      fits: ({ gatewayId }, other) => gatewayId === other.gatewayId,
      maxWaiting,
      refusal: () => storeUnavailable('Too many replies wait to be sent'),
    });
  }

  /** `outcomeText`: the outcome as JSON, if it has been made. */
  send(gatewayId: string, reply: ToolReply, outcomeText?: string): void {
    const text = this.fit(reply, outcomeText);
    if (text === undefined) return;
    this.held.push({ gatewayId, text, bytes: Buffer.byteLength(text) });
    if (reply.kind === 'started' && !this.batch.isWaiting) {
      this.holding ??= setTimeout(() => this.release(), startedHoldMs);
    } else {
      this.release();
    }
  }

  /** Resolves when everything sent so far is published or lost. */
  async settle(): Promise<void> {
    this.release();
    await this.batch.settle();
  }

  private release(): void {
    clearTimeout(this.holding);
    this.holding = undefined;
    for (const reply of this.held.splice(0)) {
      const refusal = this.batch.push(reply);
      if (refusal !== undefined) this.onLost(refusal);
    }
  }

  private get room(): number {
    return this.channels.maxMessageBytes - envelopeBytes;
  }

  /** Too large an outcome is sent as a reference, too large a progress message without its text. */
  private fit(reply: ToolReply, outcomeText: string | undefined): string | undefined {
    const text =
      outcomeText === undefined
        ? JSON.stringify(reply)
        : `{"kind":"outcome","callId":${JSON.stringify(reply.callId)},"outcome":${outcomeText}}`;
    if (text.length * 3 <= this.room || Buffer.byteLength(text) <= this.room) return text;
    if (reply.kind === 'outcome') return JSON.stringify({ kind: 'outcome', callId: reply.callId } satisfies ToolReply);
    if (reply.kind !== 'progress') return undefined;
    const { message: _tooLong, ...rest } = reply;
    return JSON.stringify(rest);
  }

  private publish(replies: readonly Addressed[]): Promise<void> {
    const texts = replies.map(({ text }) => text);
    const message = `{"version":1,"replies":[${texts.join(',')}]}`;
    return this.channels.publish(channelNames.replies(replies[0]!.gatewayId), message).catch(this.onLost);
  }

  private readonly onLost = (error: unknown): void => {
    this.logger.warn({ error }, 'a reply could not be sent, the gateway will look itself');
  };
}
