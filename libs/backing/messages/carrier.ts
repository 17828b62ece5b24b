// What a set of backing services gives its channels to be carried by: one connection to listen on, one way to send.
// The rest of the channels (envelopes, batches, listeners, coming back after a loss) is the same for all sets.
import type { EnvelopeLimits } from './channel-envelope.js';

export interface Carrier {
  /** Deadline of one call, ms. */
  readonly timeoutMs: number;
  readonly limits: EnvelopeLimits;
  /** What is listened to for a channel; many channels may share one. */
  physicalName(channel: string): string;
  /** Hands all of them over in this order, in one step; a failure says nothing about which have gone out. */
  send(messages: readonly CarriedMessage[]): Promise<void>;
  /** A new connection that listens to nothing yet. Ends by the carrier's own deadlines. */
  openLink(events: LinkEvents): Promise<ListenLink>;
}

export interface CarriedMessage {
  /** As `physicalName` gave it. */
  name: string;
  payload: string;
}

export interface LinkEvents {
  onPayload(payload: string): void;
  /** The connection is gone; told again, nothing more happens. */
  onLost(): void;
}

export interface ListenLink {
  /** Resolves once the server has taken it. */
  change(added: readonly string[], ended: readonly string[]): Promise<void>;
  /** Resolves when the server answers. */
  ask(): Promise<void>;
  /** In order, within the carrier's deadline. */
  close(): Promise<void>;
  /** At once, without a goodbye: a silent server would not answer one. */
  destroy(): void;
}
