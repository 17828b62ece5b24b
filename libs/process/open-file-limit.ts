// The maximum number of file descriptors of this process; Infinity if the system does not report one.
import { readFileSync } from 'node:fs';

export function openFileLimit(): number {
  try {
    const [, soft] = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined || soft === 'unlimited' ? Infinity : Number(soft);
  } catch {
    return Infinity;
  }
}
