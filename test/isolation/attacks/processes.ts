// Other processes: their memory, what /proc says of them, signals to them, and what tries to outlive its server.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { both, byUser, type Attack, type Prepared, type Run, type Stopped } from '../attack.js';
import { contentOf, type Scene } from '../scene.js';
import type { Victim } from '../victim.js';

type Kind = 'worker' | 'server';
const who: Record<Kind, string> = { worker: 'the worker', server: 'another server' };
const signalNumber = 10;

interface Given {
  act?: string;
  stopped?: Stopped;
  reason?: string;
  of?: readonly Kind[];
}

/** The act on a process that stands for the worker, and on one that stands for another server. */
function on(what: string, title: string, prepare: (victim: Victim) => Prepared, given: Given = {}): Attack[] {
  return (given.of ?? ['worker', 'server']).map((kind) => ({
    name: `processes/${what}-${kind}`,
    title: `${title}: ${who[kind]}`,
    act: given.act ?? what,
    prepare: async (scene: Scene, run: Run) => prepare(await scene.victim(kind, run)),
    stopped: given.stopped ?? (kind === 'worker' ? byUser('confined') : both('confined')),
    ...(given.reason === undefined ? {} : { reason: given.reason }),
  }));
}

const signals = (what: string, title: string, of: readonly Kind[] = ['worker', 'server']) =>
  on(
    what,
    title,
    (victim) => ({ args: [String(victim.pid)], happened: () => victim.reports(`signal ${signalNumber}`) }),
    { of },
  );

const proc = (victim: Victim, file: string) => `/proc/${victim.pid}/${file}`;
const searches = (file: string, of: readonly Kind[], secret: (victim: Victim) => string, given: Given = {}) =>
  on(`proc-${file}`, `\`/proc/…/${file}\``, (victim) => ({ args: [proc(victim, file), secret(victim)] }), {
    act: 'search',
    of,
    ...given,
  });

/** What a file of /proc says after the attack and did not say before it. */
const turns = (victim: Victim, file: string, pattern: RegExp) => {
  const path = proc(victim, file);
  const before = pattern.exec(readFileSync(path, 'utf8'))?.[1];
  return () => pattern.exec(contentOf(path) ?? '')?.[1] !== before;
};
const nice = /\) (?:\S+ ){16}(\S+)/;
const policy = /\) (?:\S+ ){38}(\S+)/;

const memory: readonly Attack[] = [
  ...searches('environ', ['worker', 'server'], ({ secret }) => secret),
  ...searches('maps', ['worker'], () => '[heap]'),
  ...searches('cmdline', ['worker', 'server'], ({ commandLineSecret }) => commandLineSecret, {
    stopped: both('namespace'),
    reason: 'everyone may read it in `/proc`, which Node needs; so no secret ever goes on a command line',
  }),
  ...on('proc-cwd', '`/proc/…/cwd`', (victim) => ({ args: [proc(victim, 'cwd'), process.cwd()] }), {
    act: 'read-link',
    of: ['worker'],
  }),
  ...on(
    'proc-root',
    'a secret by `/proc/…/root`',
    (victim) => ({ args: [proc(victim, `root${victim.secretFile}`), victim.secret] }),
    {
      act: 'read',
    },
  ),
  ...on(
    'proc-fd',
    'a secret by `/proc/…/fd`',
    (victim) => ({ args: [proc(victim, `fd/${victim.descriptor}`), victim.secret] }),
    {
      act: 'read',
    },
  ),
  ...on('memory-file-read', 'read `/proc/…/mem`', ({ pid, address, secret }) => ({
    args: [String(pid), address, secret],
  })),
  ...on('memory-file-write', 'write `/proc/…/mem`', (victim) => ({
    args: [String(victim.pid), victim.scratch],
    happened: () => victim.reports('overwritten'),
  })),
  ...on('ptrace-attach', 'trace (attach)', ({ pid, address, secret }) => ({ args: [String(pid), address, secret] })),
  ...on('ptrace-seize', 'trace (seize)', ({ pid }) => ({ args: [String(pid)] }), { of: ['worker'] }),
  ...on('process-vm-read', 'process_vm_readv', ({ pid, address, secret }) => ({
    args: [String(pid), address, secret],
  })),
  ...on('process-vm-write', 'process_vm_writev', (victim) => ({
    args: [String(victim.pid), victim.scratch],
    happened: () => victim.reports('overwritten'),
  })),
  ...on('pidfd-getfd', 'take a descriptor', ({ pid, descriptor, secret }) => ({
    args: [String(pid), String(descriptor), secret],
  })),
  ...on('kcmp', 'compare with itself (kcmp)', ({ pid }) => ({ args: [String(pid)] }), { of: ['worker'] }),
];

const sent: readonly Attack[] = [
  ...signals('kill', 'signal'),
  ...signals('kill-group', 'signal its process group', ['worker']),
  ...signals('tgkill', 'signal a thread', ['worker']),
  ...signals('tkill', 'signal a thread, the old way', ['worker']),
  ...signals('sigqueue', 'queue a signal', ['worker']),
  ...signals('pidfd-signal', 'signal by descriptor', ['worker']),
  ...signals('sigio', 'let a pipe signal it', ['worker']),
  ...on('kill-all', 'signal everything, and so', (victim) => ({
    args: [],
    happened: () => victim.reports('signal 23'),
  })),
];

const settings: readonly Attack[] = [
  ...on('prlimit', 'lower a limit', (victim) => ({
    args: [String(victim.pid)],
    happened: turns(victim, 'limits', /Max open files +(\S+)/),
  })),
  ...on('prlimit-read', 'read a limit', ({ pid }) => ({ args: [String(pid)] }), { of: ['worker'] }),
  ...on('setpriority', 'lower the priority', (victim) => ({
    args: [String(victim.pid)],
    happened: turns(victim, 'stat', nice),
  })),
  ...on(
    'sched-setscheduler',
    'schedule as idle',
    (victim) => ({ args: [String(victim.pid)], happened: turns(victim, 'stat', policy) }),
    {
      of: ['worker'],
    },
  ),
  ...on(
    'sched-setaffinity',
    'bind to one processor',
    (victim) => ({
      args: [String(victim.pid)],
      happened: turns(victim, 'status', /Cpus_allowed:\s+(\S+)/),
    }),
    { of: ['worker'] },
  ),
  ...on('ioprio-set', 'lower the priority of its files', ({ pid }) => ({ args: [String(pid)] }), { of: ['worker'] }),
  ...on(
    'oom-score-adj',
    'have it killed first where memory ends',
    (victim) => ({
      args: [proc(victim, 'oom_score_adj'), '700'],
      happened: turns(victim, 'oom_score_adj', /(\S+)/),
    }),
    { act: 'write-setting' },
  ),
  ...on(
    'autogroup',
    'lower the priority of its session',
    (victim) => ({
      args: [proc(victim, 'autogroup'), '15'],
      happened: turns(victim, 'autogroup', /nice (\S+)/),
    }),
    { act: 'write-setting', stopped: both('confined'), of: ['worker'] },
  ),
  ...on('move-pages', 'ask for its pages', ({ pid }) => ({ args: [String(pid)] }), { of: ['worker'] }),
];

const livesMs = 400;
/** Whether a survivor still marks that it lives, after its server was ended. */
async function grows(path: string): Promise<boolean> {
  const before = contentOf(path)?.length ?? 0;
  await new Promise((resolve) => setTimeout(resolve, livesMs));
  return (contentOf(path)?.length ?? 0) > before;
}

const leaves = (act: string, title: string, more: readonly string[] = []): Attack => ({
  name: `survival/${[act, ...more].join('-')}`,
  title,
  act,
  prepare: (_, { workspace }) => {
    const marks = join(workspace, 'alive');
    const own = act.includes('launcher') ? [String(process.pid)] : [];
    return { args: [marks, ...own, ...more], ...(act === 'read-launcher' ? {} : { happened: () => grows(marks) }) };
  },
  stopped: both('process'),
});

const survival: readonly Attack[] = [
  leaves('leave-daemon', 'a daemon without environment, limits, session and parents outlives the server'),
  leaves('leave-hopper', 'a process that is another one every millisecond outlives the server'),
  leaves('leave-brother', 'a process beside the server, not below it, outlives the server'),
  leaves('leave-stopped', 'a daemon and a child that is stopped outlive the server'),
  {
    name: 'survival/run-while-stopped',
    title: 'run on while it is stopped, by a timer that wakes it',
    act: 'run-while-stopped',
    prepare: (_, { workspace }) => {
      const marks = join(workspace, 'alive');
      return { args: [marks], stopAt: marks, happened: () => grows(marks) };
    },
    stopped: both('confined'),
  },
  { ...leaves('attack-launcher', 'kill the launcher, and a daemon outlives it', ['9']), stopped: both('confined') },
  { ...leaves('attack-launcher', 'stop the launcher, and a daemon outlives it', ['19']), stopped: both('confined') },
  {
    ...leaves('attack-launcher-group', 'kill the group of the launcher, and a daemon outlives it', ['9']),
    stopped: both('confined'),
  },
  { ...leaves('read-launcher', "read the launcher's environment"), stopped: both('confined') },
];

export const processAttacks: readonly Attack[] = [...memory, ...sent, ...settings, ...survival];
