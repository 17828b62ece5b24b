// More of the machine than a tool server needs.
import { join } from 'node:path';
import { both, type Attack, type StoppedFrom } from '../attack.js';

const attack = (act: string, title: string, stopped: StoppedFrom, reason?: string): Attack => ({
  name: `exhaustion/${act}`,
  title,
  act,
  stopped: both(stopped),
  ...(reason === undefined ? {} : { reason }),
});
const alone = (given: Attack): Attack => ({ ...given, alone: true });

const bound = 'no process has it mapped: bound the container (cgroup)';

export const exhaustionAttacks: readonly Attack[] = [
  alone(attack('processes', '2,000 processes', 'process')),
  alone(attack('threads', '2,000 threads', 'process')),
  alone(attack('private-memory', '6 GiB of memory', 'process')),
  alone(attack('shared-memory-pages', '6 GiB of shared memory', 'process')),
  alone(attack('divided-memory', '6 GiB of memory in two processes', 'process')),
  alone(attack('memory-file', '6 GiB in a file in memory', 'process')),
  alone(attack('memory-files', '6 GiB in many files in memory', 'never', bound)),
  alone(attack('large-stack', '6 GiB of stack', 'process')),
  {
    ...attack('large-file', 'a file above the bound', 'process'),
    prepare: (_, { workspace, maxFileBytes }) => ({ args: [join(workspace, 'large'), String(maxFileBytes)] }),
  },
  {
    ...attack('many-files', '12,000 files', 'never', 'the quota of workspaces counts them (docs/workspaces.md)'),
    prepare: (_, { workspace }) => ({ args: [workspace] }),
  },
  attack('descriptors', '8,192 open files', 'process'),
  attack('watches', 'all instances of inotify that a user may have', 'confined'),
  attack('requests', 'all asynchronous requests of the machine (io_setup)', 'confined'),
  attack('core-dump', 'a core dump', 'process'),
  attack('endless-time', 'processor time without end', 'process'),
  attack('raise-limits', 'raise a limit', 'process'),
  attack('raise-priority', 'raise its own priority', 'process'),
];
