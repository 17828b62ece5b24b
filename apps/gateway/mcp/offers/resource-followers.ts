// The MCP clients that follow resources. While anybody follows one, its server is asked again and again to announce its changes, because
// what it was asked ends with its connection; nothing has to be taken back when a client or this gateway is gone.
import type { Channels } from '#libs/backing/channels.js';
import { Deadline } from '#libs/concurrency/deadline.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Logger } from '#libs/logging/logger.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintRequestId } from '#libs/schemas/identifiers.js';
import { parseJson } from '#libs/schemas/json.js';
import { channelNames, resourceUpdatesSchema, type ResourceUpdate } from '#libs/schemas/tool-job.js';
import type { OfferRequests } from './offer-requests.js';
import type { ResourceTarget } from './named-offers.js';

export interface Follower {
  target: ResourceTarget;
  /** The URI as the client knows it. */
  shown: string;
  sessionId: string;
  /** Called when the resource has changed. */
  onUpdated(): void;
}

interface Followed extends Follower {
  caller: Pick<RequestContext, 'principal' | 'keyId' | 'roles' | 'access' | 'ip'>;
}

export interface FollowerPorts {
  channels: Pick<Channels, 'subscribe'>;
  offerRequests: Pick<OfferRequests, 'run'>;
  logger: Logger;
}

const renewMs = 90_000;
const requestMs = 30_000;
const maxFollowers = 1_000;

export class ResourceFollowers {
  private readonly followers = new Set<Followed>();
  private timer: NodeJS.Timeout | undefined;
  private renewing: Promise<void> | undefined;
  private stopListening: (() => Promise<void>) | undefined;

  constructor(private readonly ports: FollowerPorts) {}

  async start(): Promise<void> {
    const { channels } = this.ports;
    this.stopListening = await channels.subscribe(channelNames.resourceUpdates, (message) => this.receive(message));
    // Servers that do not answer may take longer than the pause: one round at a time.
    this.timer = setInterval(
      () => void (this.renewing ??= this.renewAll().finally(() => (this.renewing = undefined))),
      renewMs,
    ).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    this.followers.clear();
    await this.stopListening?.();
  }

  /**
   * Returns a function that stops it. The first request to the server is a call of `caller`; if it fails, nobody follows.
   * @throws AppError concurrency_exceeded, invalid_value, and those of the call
   */
  async follow(follower: Follower, from: RequestContext): Promise<() => void> {
    if (!follower.target.owner.offers.subscribes) {
      throw new AppError('invalid_value', 'The server of this resource does not announce its changes', {
        param: 'uri',
      });
    }
    if (this.followers.size >= maxFollowers) {
      throw new AppError('concurrency_exceeded', `${maxFollowers} resources are already followed`, {
        retryAfterSeconds: 60,
      });
    }
    const { principal, keyId, roles, access, ip } = from;
    const caller = { principal, keyId, roles, access, ip } as Followed['caller'];
    const followed = { ...follower, caller };
    this.followers.add(followed);
    try {
      await this.ask(followed, from);
    } catch (error) {
      this.followers.delete(followed);
      throw error;
    }
    return () => void this.followers.delete(followed);
  }

  private receive(message: string): void {
    const read = resourceUpdatesSchema.safeParse(parseJson(message));
    if (!read.success) {
      this.ports.logger.warn({ metadata: { bytes: message.length } }, 'a message about resources was ignored');
      return;
    }
    for (const update of read.data.updates) {
      for (const followed of this.followers) if (isTold(followed, update)) followed.onUpdated();
    }
  }

  /** Once for all who follow the same resource in the same instance of its server. */
  private async renewAll(): Promise<void> {
    const asked = new Set<string>();
    for (const followed of this.followers) {
      const { target, caller, sessionId } = followed;
      const key = JSON.stringify([target.owner.server, target.uri, caller.principal, sessionId]);
      if (asked.has(key)) continue;
      asked.add(key);
      const signal = AbortSignal.timeout(requestMs);
      const deadline = new Deadline(steadyNow() + requestMs);
      await this.ask(followed, { ...caller, requestId: mintRequestId(), signal, deadline }).catch((error: unknown) =>
        this.ports.logger.debug({ error }, 'a resource that clients follow could not be asked for again'),
      );
    }
  }

  private async ask({ target, shown, sessionId }: Follower, caller: RequestContext): Promise<void> {
    const { error } = await this.ports.offerRequests.run(
      {
        method: 'resources/subscribe',
        owner: target.owner,
        item: { kind: 'resource', name: target.uri },
        shown,
        params: { uri: target.uri },
        sessionId,
      },
      caller,
      () => undefined,
    );
    if (error !== undefined) throw new AppError(error.code, error.message);
  }
}

/** Users with an instance of their own are not told of what happens in another's. */
function isTold({ target, caller, sessionId }: Followed, update: ResourceUpdate): boolean {
  return (
    target.uri === update.uri &&
    target.owner.server === update.server &&
    (update.principal ?? caller.principal) === caller.principal &&
    (update.sessionId ?? sessionId) === sessionId
  );
}
