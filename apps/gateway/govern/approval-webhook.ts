// Notifies a webhook of waiting approvals, signed according to Standard Webhooks (standardwebhooks.com). Pending
// notifications are in the database: any gateway sends them and retries after a failure, even after a restart.
import { createHmac } from 'node:crypto';
import { type Wait, shownWait } from '#libs/waits/wait.js';
import type { WaitStore } from '#libs/waits/wait-store.js';
import { redact } from '#libs/audit/redact.js';
import { abortAfter } from '#libs/concurrency/abort-after.js';
import { whyUnreachable } from '#libs/http-client/why-unreachable.js';
import type { Logger } from '#libs/logging/logger.js';

export interface ApprovalWebhookParts {
  url: string;
  secret: string;
  store: Pick<WaitStore, 'takeDue' | 'notified'>;
  onSent: (outcome: 'delivered' | 'failed') => void;
  logger: Logger;
}

/** Delays after the first try, the second, and so on; a notification that fails after the last delay is given up. */
const retryMs = [1_000, 5_000, 30_000, 120_000, 300_000];
const timeoutMs = 10_000;
const atOnce = 8;
const maxArgumentsBytes = 16 * 1024;

export class ApprovalWebhook {
  private readonly stop = new AbortController();
  private sending: Promise<void> | undefined;
  private again = false;

  constructor(private readonly parts: ApprovalWebhookParts) {}

  /** Sends pending notifications. Never throws. */
  send(): void {
    this.again = true;
    this.sending ??= this.sendDue().finally(() => (this.sending = undefined));
  }

  async close(): Promise<void> {
    this.stop.abort();
    await this.sending;
  }

  private async sendDue(): Promise<void> {
    const { store, logger } = this.parts;
    while (this.again && !this.stop.signal.aborted) {
      this.again = false;
      try {
        const due = await store.takeDue(atOnce, retryMs);
        if (due.length === atOnce) this.again = true;
        await Promise.all(due.map((approval) => this.post(approval)));
      } catch (error) {
        logger.debug({ error }, 'due approval notifications could not be read');
      }
    }
  }

  private async post(approval: Wait): Promise<void> {
    const { url, secret, store, onSent, logger } = this.parts;
    try {
      const body = JSON.stringify(bodyOf(approval));
      const headers = { 'content-type': 'application/json', ...signature(secret, approval.id, body) };
      const signal = AbortSignal.any([this.stop.signal, abortAfter(timeoutMs)]);
      // The path of the URL may contain a secret.
      const webhook = `the webhook at ${new URL(url).origin}`;
      const request = { method: 'POST', headers, body, redirect: 'error', signal } as const;
      const response = await fetch(url, request).catch((error: unknown) => {
        throw new Error(`${webhook} cannot be reached: ${whyUnreachable(error)}`, { cause: error });
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`${webhook} answered ${response.status}`);
      await store.notified(approval.id);
      onSent('delivered');
    } catch (error) {
      onSent('failed');
      logger.warn({ error, metadata: { approval: approval.id } }, 'an approval notification could not be delivered');
    }
  }
}

function bodyOf(approval: Wait) {
  const shown = shownWait(approval);
  const isShort = Buffer.byteLength(JSON.stringify(approval.arguments)) <= maxArgumentsBytes;
  return {
    type: 'approval.waiting',
    timestamp: new Date().toISOString(),
    // Receivers fetch long arguments by id.
    data: { ...shown, arguments: isShort ? redact(approval.arguments) : null },
  };
}

/** `now`: epoch seconds. */
export function signature(secret: string, id: string, body: string, now = Math.floor(Date.now() / 1_000)) {
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : secret;
  const digest = createHmac('sha256', key).update(`${id}.${now}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(now), 'webhook-signature': `v1,${digest}` };
}
