// What the supervisor keeps running: a database, a gateway, a worker. It knows them only as this.

export interface Part {
  readonly name: string;
  /** Resolves when it serves. Rejects, leaving nothing of it, when it does not come up or the signal aborts. */
  start(signal: AbortSignal): Promise<Life>;
}

/** One run of a part. */
export interface Life {
  /** Resolves, never rejects, when nothing of it runs any more, with how it ended. */
  ended: Promise<string>;
  /** In order, with the part's own patience. Resolves when nothing of it runs. */
  stop(): Promise<void>;
  /** It is to read its configuration again; absent where it has none. */
  reload?(): void;
}

/** Trying again would not help: everything ends with this message. */
export class Unrecoverable extends Error {
  override readonly name = 'Unrecoverable';
}
