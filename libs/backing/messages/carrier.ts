// How a set of backing services carries its channels: one connection for listening, one way to send.
// The rest of the channels (envelopes, batches, listeners, reconnecting) is the same for all sets.
import type { EnvelopeLimits } from './channel-envelope.js';

export interface Carrier {
  /** Deadline of one call, ms. */
  readonly timeoutMs: number;
  readonly limits: EnvelopeLimits;
  /** The physical channel of a channel; many channels may share one. */
  physicalName(channel: string): string;
  /** Sends all of them in this order, in one step; a failure does not say which were sent. */
  send(messages: readonly CarriedMessage[]): Promise<unknown>;
  /** A new connection without subscriptions. Ends by the carrier's own deadlines. */
  openLink(events: LinkEvents): Promise<ListenLink>;
}

export interface CarriedMessage {
  /** As returned by `physicalName`. */
  name: string;
  payload: string;
}

export interface LinkEvents {
  onPayload(payload: string): void;
  /** The connection is lost; further calls have no effect. */
  onLost(): void;
}

export interface ListenLink {
  /** Resolves once the server has confirmed the changes. */
  change(added: readonly string[], ended: readonly string[]): Promise<void>;
  /** Resolves when the server answers. */
  ask(): Promise<void>;
  /** Closes in order, within the carrier's deadline. */
  close(): Promise<void>;
  /** Cuts the connection without a closing handshake, which a silent server would not answer. */
  destroy(): void;
}
