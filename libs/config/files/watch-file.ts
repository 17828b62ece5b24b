// Reports changes of a file, however it was written: in place, by a rename, or by a moved link (Kubernetes). Watches the
// directory, and also polls, because some file systems report no changes.
import { statSync, watch, type FSWatcher } from 'node:fs';
import { dirname } from 'node:path';

export interface FileWatchOptions {
  onChange: () => void;
  pollMs?: number;
  /** A change is reported after this time without another. */
  settleMs?: number;
}

const defaults = { pollMs: 3_000, settleMs: 200 };

/** A write after the start of this process counts as a change, since the file may have been read before it. */
export function watchFile(path: string, options: FileWatchOptions): { close(): void } {
  const { onChange, pollMs, settleMs } = { ...defaults, ...options };
  let known = fingerprint(path, performance.timeOrigin);
  let seen = known;
  let settled: NodeJS.Timeout | undefined;

  const settle = () => {
    settled = undefined;
    if (seen === known) return;
    known = seen;
    onChange();
  };
  const check = () => {
    const now = fingerprint(path);
    if (now === seen) return;
    seen = now;
    clearTimeout(settled);
    settled = setTimeout(settle, settleMs);
  };

  const watcher = watchDirectory(dirname(path), check);
  const timer = setInterval(check, pollMs);
  timer.unref();
  check();
  return {
    close() {
      clearTimeout(settled);
      clearInterval(timer);
      watcher?.close();
    },
  };
}

/** Undefined if the system cannot watch it; polling still works. */
function watchDirectory(directory: string, check: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(directory, { persistent: false }, check);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}

/** Undefined if the file changed after `olderThan`, in epoch ms. */
function fingerprint(path: string, olderThan = Infinity): string | undefined {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(path);
    return ctimeMs < olderThan ? `${ino} ${size} ${mtimeMs} ${ctimeMs}` : undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
}
