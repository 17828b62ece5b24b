// Files that belong to others: every act on each of the places where a worker has them.
import { rmSync, statSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { basename, join } from 'node:path';
import { both, byUser, type Attack, type Prepared, type Run, type Stopped } from '../attack.js';
import { contentOf, type OtherFile, type Place, type Scene } from '../scene.js';

interface Act {
  title: string;
  prepare(file: OtherFile, run: Run, scene: Scene): Prepared;
}

const stat = (path: string) => statSync(path, { bigint: true, throwIfNoEntry: false });
/** Of what was there before, as well as of what is new: anything but what it was. */
const changed = (path: string) => {
  const before = stat(path);
  return () => {
    const after = stat(path);
    return after?.ctimeNs !== before?.ctimeNs || after?.ino !== before?.ino;
  };
};
const onFile = (title: string, ...more: string[]): Act => ({
  title,
  prepare: ({ path }) => ({ args: [path, ...more], happened: changed(path) }),
});
const makes = (title: string): Act => ({
  title,
  prepare: ({ directory }, run) => {
    const path = join(directory, `made-${basename(run.workspace)}`);
    run.afterwards(() => rmSync(path, { recursive: true, force: true }));
    return { args: [path], happened: changed(path) };
  },
});

export const acts = {
  read: { title: 'read', prepare: ({ path, secret }) => ({ args: [path, secret] }) },
  list: { title: 'list', prepare: ({ directory, name }) => ({ args: [directory, name] }) },
  write: onFile('write'),
  create: makes('create'),
  mkdir: makes('create a directory'),
  symlink: makes('create a symbolic link'),
  mkfifo: makes('create a FIFO'),
  delete: onFile('delete'),
  rename: {
    title: 'rename',
    prepare: ({ path }, run) => {
      run.afterwards(() => rmSync(`${path}-moved`, { force: true }));
      return { args: [path, `${path}-moved`], happened: changed(path) };
    },
  },
  truncate: onFile('truncate'),
  chmod: onFile('chmod', '0644'),
  chown: {
    title: 'chown',
    prepare: ({ path }) => ({ args: [path, String(statSync(path).gid)], happened: changed(path) }),
  },
  utimes: onFile('set the times of'),
  setxattr: onFile('set an attribute of'),
  lock: { title: 'lock', prepare: ({ path }) => ({ args: [path] }) },
  'hard-link': {
    title: 'hard-link into the workspace',
    prepare: ({ path, secret }, { workspace }) => ({ args: [path, join(workspace, 'linked'), secret] }),
  },
  'follow-link': {
    title: 'read by a symbolic link',
    prepare: ({ path, secret }, { workspace }) => ({ args: [path, join(workspace, 'link'), secret] }),
  },
  climb: { title: 'read by `../..`', prepare: ({ path, secret }) => ({ args: [path.slice(1), secret] }) },
  enter: {
    title: 'enter and read',
    prepare: ({ directory, name, secret }) => ({ args: [directory, name, secret] }),
  },
  stat: { title: 'see size and times of', prepare: ({ path }) => ({ args: [path] }) },
  'open-by-handle': {
    title: 'read by its handle',
    prepare: ({ path, secret }, { workspace }, { probe }) => {
      const [type = '0', handle = ''] = spawnSync(probe, ['handle', path], { encoding: 'utf8' })
        .stdout.trim()
        .split(' ');
      return { args: [workspace, type, handle, secret] };
    },
  },
  'io-uring-open': { title: 'read by io_uring', prepare: ({ path, secret }) => ({ args: [path, secret] }) },
  'chmod-race': {
    title: 'chmod by a link that changes meanwhile',
    prepare: ({ path }, { workspace }) => ({
      args: [path, join(workspace, 'link'), join(workspace, 'own')],
      happened: changed(path),
    }),
  },
} satisfies Record<string, Act>;

type ActName = keyof typeof acts;

const places: Record<Place, string> = {
  session: "another session's file",
  sessions: 'the directory of all sessions',
  data: "the worker's data",
  secrets: 'a secret file',
  package: "the server's own package",
  '/tmp': "the worker's file in `/tmp`",
  '/dev/shm': "the worker's file in `/dev/shm`",
  '/etc': '`/etc`',
};
const shortNames: Partial<Record<Place, string>> = { '/tmp': 'tmp', '/dev/shm': 'shm', '/etc': 'etc' };

function on(place: Place, names: readonly ActName[], stopped: Stopped, reason?: string) {
  return names.map((act): Attack => ({
    name: `files/${act}-${shortNames[place] ?? place}`,
    title: `${acts[act].title}: ${places[place]}`,
    act,
    prepare: (scene, run) => acts[act].prepare(scene.file(place, run), run, scene),
    stopped,
    ...(reason === undefined ? {} : { reason }),
  }));
}

const reads = [
  'read',
  'list',
  'hard-link',
  'follow-link',
  'climb',
  'enter',
  'open-by-handle',
  'io-uring-open',
] as const;
const makesNew = ['create', 'mkdir', 'symlink', 'mkfifo'] as const;
const changes = ['write', 'delete', 'rename', 'truncate', 'chmod', 'chown', 'utimes', 'setxattr', 'lock'] as const;

const watched = (name: string, title: string, kind: 'worker' | 'server', stopped: Stopped): Attack => ({
  name,
  title,
  act: 'watch',
  prepare: async (scene, run) => ({ args: [(await scene.victim(kind, run)).busyFile] }),
  stopped,
});

export const fileAttacks: readonly Attack[] = [
  ...on('session', [...reads, ...makesNew, ...changes, 'chmod-race'], both('confined')),
  watched('files/watch-session', "watch (inotify): another session's file", 'server', both('confined')),
  ...on('sessions', ['list', 'create', 'delete', 'rename'], byUser('confined')),
  {
    name: 'files/chmod-all-sessions',
    title: 'close to everyone: the directory of all sessions',
    act: 'chmod',
    prepare: (scene, run) => {
      const path = join(scene.place('data'), `sessions-${basename(run.workspace)}`);
      return acts.chmod.prepare(scene.directoryAt(path, run), run, scene);
    },
    stopped: byUser('confined'),
  },
  ...on('data', ['read', 'list', 'write', 'create', 'delete', 'truncate', 'chmod', 'utimes'], byUser('confined')),
  watched('files/watch-data', "watch (inotify): the worker's data", 'worker', byUser('confined')),
  ...on('secrets', ['read', 'follow-link', 'hard-link', 'write', 'chmod', 'open-by-handle'], byUser('confined')),
  ...on('secrets', ['stat'], both('namespace'), 'Landlock knows no right to look at sizes and times'),
  ...on('package', ['write', 'create', 'delete', 'chmod'], byUser('confined')),
  ...on('/tmp', ['read', 'list', 'create', 'symlink'], both('confined')),
  ...on('/dev/shm', ['read', 'list', 'create'], both('confined')),
  {
    name: 'files/read-shadow',
    title: 'read: `/etc/shadow`',
    act: 'read',
    prepare: () => ({ args: ['/etc/shadow', (contentOf('/etc/shadow') ?? 'root:').slice(0, 8)] }),
    stopped: byUser('confined'),
  },
  ...on('/etc', ['create'], byUser('confined')),
  {
    name: 'files/inherited-descriptor',
    title: "read: a secret file that the worker's parent left open",
    act: 'inherited-descriptor',
    prepare: (scene, run) => {
      const { path, secret } = scene.file('secrets', run);
      return { args: [secret], before: [scene.probe, 'hold', path] };
    },
    stopped: both('process'),
  },
  {
    name: 'files/leave-set-uid',
    title: 'leave a set-uid program in the workspace',
    act: 'leave-set-uid',
    prepare: (_, { workspace }) => ({ args: [join(workspace, 'set-uid')] }),
    stopped: both('never'),
    reason: 'it would run as the user of the session, who may do no more; directories of sessions are closed to others',
  },
];
