// Messages between processes: small, unordered between channels, lost when nobody listens. Whoever needs certainty
// polls the store as well.

export interface Channels {
  /**
   * Delivers `message` to every subscriber of `channel` in any process. In order within one publisher and channel.
   * `message` is at most `maxMessageBytes` of UTF-8; larger ones are refused with a RangeError.
   * @throws AppError store_unavailable
   */
  publish(channel: string, message: string, signal?: AbortSignal): Promise<void>;
  /** Resolves once the subscription holds. The listener must not throw. Returns what ends it. */
  subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<void>>;
  /** After a lost connection is back: messages may be missing, poll now. */
  onReconnect(listener: () => void): () => void;
  readonly maxMessageBytes: number;
  close(): Promise<void>;
}
