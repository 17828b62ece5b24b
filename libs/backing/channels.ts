// Messages between processes: small, unordered between channels, lost if nobody listens. Listeners that need certainty
// also poll the store.

export interface Channels {
  /**
   * Delivers `message` to every subscriber of `channel` in any process. Messages of one publisher and channel stay in order.
   * `message` is at most `maxMessageBytes` of UTF-8; larger ones are refused with a RangeError.
   * @throws AppError store_unavailable
   */
  publish(channel: string, message: string, signal?: AbortSignal): Promise<void>;
  /** Resolves once the subscription is active. The listener must not throw. Returns a function that ends it. */
  subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<void>>;
  /** Called when a lost connection is restored: messages may be missing, poll now. */
  onReconnect(listener: () => void): () => void;
  readonly maxMessageBytes: number;
  close(): Promise<void>;
}
