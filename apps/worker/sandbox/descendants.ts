// The processes below one, by what the kernel says of each task's children. For counting: who ends them is the launcher.
import { readdir, readFile } from 'node:fs/promises';

/** Without /proc nothing is below anyone. */
export async function descendantsOf(pid: number): Promise<number[]> {
  const found: number[] = [];
  const pending = [pid];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const tasks = await readdir(`/proc/${next}/task`).catch(() => []);
    for (const task of tasks) {
      const text = await readFile(`/proc/${next}/task/${task}/children`, 'latin1').catch(() => '');
      const children = text.split(' ').filter(Boolean).map(Number);
      found.push(...children);
      pending.push(...children);
    }
  }
  return found;
}
