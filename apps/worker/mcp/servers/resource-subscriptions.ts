// The resources of which a server announces changes: asked for by calls, each for a time that later calls renew, and bounded.
import type { Client, McpSubscription } from '@modelcontextprotocol/client';
import { unlessAborted } from '#libs/concurrency/unless-aborted.js';
import { AppError } from '#libs/schemas/errors.js';
import { resourceLeaseMs } from '#libs/schemas/tool-job.js';

/** Each has a stream of its own since 2026-07-28. */
const maxStreams = 100;
/** As many as all clients of a gateway may follow. */
const maxSubscribed = 1_000;
const timeoutMs = 15_000;

interface Subscribed {
  /** The stream of a server of 2026-07-28. */
  asked: Promise<McpSubscription | undefined>;
  timer?: NodeJS.Timeout;
}

export class ResourceSubscriptions {
  private readonly listeners: ((uri: string) => void)[] = [];
  private readonly subscribed = new Map<string, Subscribed>();

  constructor(private readonly client: Client) {
    client.setNotificationHandler('notifications/resources/updated', ({ params: { uri } }) => {
      if (this.subscribed.has(uri)) for (const listener of this.listeners) listener(uri);
    });
  }

  onUpdated(listener: (uri: string) => void): void {
    this.listeners.push(listener);
  }

  /** A caller that leaves ends nothing that others may wait for. @throws AppError tool_failed above the bound; the errors of the SDK */
  async renew(uri: string, signal: AbortSignal): Promise<void> {
    const subscribed = this.subscribed.get(uri) ?? this.begin(uri);
    clearTimeout(subscribed.timer);
    subscribed.timer = setTimeout(() => this.end(uri, subscribed), resourceLeaseMs).unref();
    await unlessAborted(subscribed.asked, signal);
  }

  close(): void {
    for (const [uri, subscribed] of this.subscribed) this.forget(uri, subscribed);
  }

  private get isModern(): boolean {
    return this.client.getProtocolEra() === 'modern';
  }

  private begin(uri: string): Subscribed {
    const most = this.isModern ? maxStreams : maxSubscribed;
    if (this.subscribed.size >= most) {
      throw new AppError('tool_failed', `Changes of ${most} resources of this server are already awaited`);
    }
    const subscribed: Subscribed = { asked: this.ask(uri) };
    this.subscribed.set(uri, subscribed);
    const forget = () => this.forget(uri, subscribed);
    subscribed.asked.then((stream) => stream?.closed.then(forget), forget);
    return subscribed;
  }

  private async ask(uri: string): Promise<McpSubscription | undefined> {
    if (this.isModern) return this.client.listen({ resourceSubscriptions: [uri] }, { timeout: timeoutMs });
    await this.client.subscribeResource({ uri }, { timeout: timeoutMs });
    return undefined;
  }

  private end(uri: string, subscribed: Subscribed): void {
    this.forget(uri, subscribed);
    subscribed.asked
      .then(async (stream) => {
        if (stream === undefined) await this.client.unsubscribeResource({ uri }, { timeout: timeoutMs });
        else await stream.close();
      })
      .catch(() => undefined);
  }

  private forget(uri: string, subscribed: Subscribed): void {
    clearTimeout(subscribed.timer);
    if (this.subscribed.get(uri) === subscribed) this.subscribed.delete(uri);
  }
}
