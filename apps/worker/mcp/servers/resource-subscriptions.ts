// The resources of which a server announces changes: asked for by calls, each for a time that later calls renew, and bounded.
import type { Client, McpSubscription } from '@modelcontextprotocol/client';
import { AppError } from '#libs/schemas/errors.js';
import { resourceLeaseMs } from '#libs/schemas/tool-job.js';

const maxSubscribed = 100;
const timeoutMs = 15_000;

interface Subscribed {
  timer: NodeJS.Timeout;
  /** The stream of a server of 2026-07-28. */
  stream: McpSubscription | undefined;
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

  /** @throws AppError tool_failed above the bound; the errors of the SDK */
  async renew(uri: string, signal: AbortSignal): Promise<void> {
    const known = this.subscribed.get(uri);
    if (known === undefined && this.subscribed.size >= maxSubscribed) {
      throw new AppError('tool_failed', `Changes of ${maxSubscribed} resources of this server are already awaited`);
    }
    clearTimeout(known?.timer);
    const timer = setTimeout(() => this.end(uri), resourceLeaseMs).unref();
    const renewed: Subscribed = { timer, stream: known?.stream };
    this.subscribed.set(uri, renewed);
    if (known !== undefined) return;
    try {
      const options = { signal, timeout: timeoutMs };
      if (this.client.getProtocolEra() === 'modern') {
        const stream = await this.client.listen({ resourceSubscriptions: [uri] }, options);
        renewed.stream = stream;
        void stream.closed.then(() => this.forget(uri, stream));
      } else await this.client.subscribeResource({ uri }, options);
    } catch (error) {
      this.forget(uri, renewed.stream);
      throw error;
    }
  }

  close(): void {
    for (const uri of this.subscribed.keys()) this.forget(uri, this.subscribed.get(uri)?.stream);
  }

  private end(uri: string): void {
    const stream = this.subscribed.get(uri)?.stream;
    this.forget(uri, stream);
    const ended =
      stream === undefined ? this.client.unsubscribeResource({ uri }, { timeout: timeoutMs }) : stream.close();
    ended.catch(() => undefined);
  }

  private forget(uri: string, stream: McpSubscription | undefined): void {
    const known = this.subscribed.get(uri);
    if (known === undefined || known.stream !== stream) return;
    clearTimeout(known.timer);
    this.subscribed.delete(uri);
  }
}
