// Reports changes of files, however they were written: in place, by a rename, or by a moved link (Kubernetes). Looks again and
// again, because some file systems report no changes.
import { statSync } from 'node:fs';

export interface FileWatchOptions {
  onChange: () => void;
  pollMs?: number;
}

/** `paths` may change too. A write after the start of this process counts, since the file may have been read before it. */
export function watchFiles(
  paths: () => readonly string[],
  { onChange, pollMs = 500 }: FileWatchOptions,
): { close(): void } {
  const look = (olderThan?: number) =>
    paths()
      .map((path) => `${path} ${fingerprint(path, olderThan)}`)
      .join();
  let known = look(performance.timeOrigin);
  let seen = known;
  const timer = setInterval(() => {
    const now = look();
    const isChange = now === seen && now !== known;
    seen = now;
    if (!isChange) return;
    known = now;
    onChange();
  }, pollMs).unref();
  return { close: () => clearInterval(timer) };
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
