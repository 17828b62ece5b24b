// How many file descriptors this process may have. Where the system does not say, no bound is made up.
import { readFileSync } from 'node:fs';

export function openFileLimit(): number {
  try {
    const [, soft] = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined || soft === 'unlimited' ? Infinity : Number(soft);
  } catch {
    return Infinity;
  }
}
