// Finds the descendants of a process in the kernel's lists of children. Only for counting: the launcher ends processes.
import { open, readdir } from 'node:fs/promises';

/** Small enough for the pool of small buffers. */
const pieceBytes = 4_000;

/** Without /proc the count is always zero. */
export async function descendantsOf(pid: number): Promise<number[]> {
  const found: number[] = [];
  const pending = [pid];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const tasks = await readdir(`/proc/${next}/task`).catch(() => []);
    for (const task of tasks) {
      const text = await readProc(`/proc/${next}/task/${task}/children`).catch(() => '');
      const children = text.split(' ').filter(Boolean).map(Number);
      found.push(...children);
      pending.push(...children);
    }
  }
  return found;
}

/** Files in /proc report no size, so `readFile` would allocate 64 KiB or more for each of hundreds. */
async function readProc(path: string): Promise<string> {
  const file = await open(path);
  try {
    let text = '';
    for (;;) {
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(pieceBytes), 0, pieceBytes, null);
      text += buffer.toString('latin1', 0, bytesRead);
      if (bytesRead < pieceBytes) return text;
    }
  } finally {
    await file.close();
  }
}
