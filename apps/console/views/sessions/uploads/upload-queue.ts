// Uploads, one after the other. A file that is there is overwritten only when somebody said so, and only the version that was asked
// about.
import { SignalboxError, type FileEntry } from '@signalbox/client';
import { uploadingApi } from '../../../api/api.js';
import { ExternalValue } from '../../../api/external-value.js';

export interface Upload {
  id: number;
  file: File;
  path: string;
  state: 'waiting' | 'sending' | 'exists' | 'done' | 'failed' | 'cancelled';
  sent: number;
  /** The version that may be overwritten; absent: none. */
  over?: string | undefined;
  error?: unknown;
}

export interface UploadTarget {
  /** '' is the top. */
  folder: string;
  known: readonly FileEntry[];
  /** Why so many more bytes are not accepted. */
  tooLarge: (bytes: number) => string | undefined;
}

export class UploadQueue {
  readonly uploads = new ExternalValue<readonly Upload[]>([]);
  private count = 0;
  private sending: { id: number; controller: AbortController } | undefined;

  constructor(
    private readonly sessionId: string,
    private readonly onDone: () => void,
  ) {}

  add(files: readonly File[], { folder, known, tooLarge }: UploadTarget): void {
    const added = files.map((file): Upload => {
      const path = folder === '' ? file.name : `${folder}/${file.name}`;
      const there = known.find((entry) => entry.path === path);
      const upload = { id: ++this.count, file, path, sent: 0 };
      const problem = tooLarge(file.size - (there?.size ?? 0));
      if (problem !== undefined) return { ...upload, state: 'failed', error: new Error(problem) };
      return { ...upload, state: there === undefined ? 'waiting' : 'exists' };
    });
    this.uploads.set([...this.uploads.get(), ...added]);
    void this.run();
  }

  /** `etag`: the version that is there now; `*` if that is not known. */
  overwrite(id: number, etag = '*'): void {
    this.change(id, { state: 'waiting', over: etag });
    void this.run();
  }

  cancel(id: number): void {
    this.change(id, { state: 'cancelled' });
    if (this.sending?.id === id) this.sending.controller.abort();
  }

  clear(): void {
    const kept = this.uploads.get().filter(({ state }) => !['done', 'failed', 'cancelled'].includes(state));
    this.uploads.set(kept);
  }

  /** The page is left. */
  close(): void {
    this.uploads.set([]);
    this.sending?.controller.abort();
  }

  private async run(): Promise<void> {
    if (this.sending !== undefined) return;
    const next = this.uploads.get().find(({ state }) => state === 'waiting');
    if (next === undefined) return;
    const { id } = next;
    const controller = new AbortController();
    this.sending = { id, controller };
    this.change(id, { state: 'sending', sent: 0 });
    try {
      await this.send(next, controller.signal);
      this.change(id, { state: 'done', sent: next.file.size });
      this.onDone();
    } catch (error) {
      // Somebody else wrote the file meanwhile.
      const exists = error instanceof SignalboxError && error.code === 'precondition_failed';
      if (exists) this.onDone();
      if (!controller.signal.aborted)
        this.change(id, exists ? { state: 'exists', over: undefined } : { state: 'failed', error });
    } finally {
      this.sending = undefined;
    }
    void this.run();
  }

  private send({ id, file, path, over }: Upload, signal: AbortSignal): Promise<unknown> {
    const condition = over === undefined ? { ifNoneMatch: '*' } : { ifMatch: over };
    return uploadingApi((sent) => this.change(id, { sent: Math.min(sent, file.size) })).files.upload(
      { sessionId: this.sessionId, path, content: file },
      { ...condition, signal },
    );
  }

  private change(id: number, changes: Partial<Upload>): void {
    this.uploads.set(this.uploads.get().map((each) => (each.id === id ? { ...each, ...changes } : each)));
  }
}
