// Tool servers give way to Signalbox where the CPU is scarce: a gateway or worker that does not get its turn refuses calls
// and is given up for dead, a tool that gets it later is late.
import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/** About a tenth of what others weigh. Anyone may raise it, also for what is not root's. */
export const toolNiceness = 10;

/** For a process that was started just now, and all that descend from it. Where the system does not take it, all is as was. */
export function giveWay(pid: number): void {
  attempt(() => setPriority(pid, toolNiceness));
  // Where Linux groups processes by session, the CPU is shared among the groups first, and each tool server is one: it would
  // weigh as much as all processes of Signalbox that were started together.
  attempt(() => writeFileSync(`/proc/${pid}/autogroup`, String(toolNiceness)));
}

function attempt(step: () => void): void {
  try {
    step();
  } catch {
    // As said above.
  }
}
