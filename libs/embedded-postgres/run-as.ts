// PostgreSQL refuses to run as root. Finds the way in which it runs here: directly for an ordinary user; as root with
// another user's id, while still able to enter directories (a checkout under /root) that only root may enter.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '../process/run-program.js';
import type { Binaries } from './binaries.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

export interface RunAs {
  prefix: readonly string[];
  /** The required owner of the cluster's files; undefined: whoever makes them. */
  owner: { uid: number; gid: number } | undefined;
}

/** `nobody` nearly everywhere, and an id that no one else's files belong to. */
const nobody = 65_534;

/** The whole environment of the database's programs, without our variables and secrets. */
export const serverEnvironment: Record<string, string> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
};

/** Root runs the server as the owner of `clusterDirectory`, if that exists. */
export async function chooseRunAs(
  binaries: Binaries,
  clusterDirectory: string,
  signal: AbortSignal | undefined,
): Promise<RunAs> {
  const asRoot = process.getuid?.() === 0;
  const owner = await ownerOf(clusterDirectory);
  const candidates = asRoot ? rootCandidates(owner) : [directly, asNobody];
  const trials = [[binaries.postgres, '--version']];
  // Making a cluster takes a user that has a name; running one does not.
  if (owner === undefined) trials.push(['id', '-un']);
  const failures: string[] = [];
  for (const candidate of candidates) {
    const failure = await tryOut(candidate, trials, signal);
    if (failure === undefined) return candidate;
    failures.push(`${candidate.prefix[0] ?? 'directly'}: ${failure}`);
  }
  throw new EmbeddedPostgresError(
    'cannot_run',
    `The PostgreSQL that comes with Signalbox does not run here (${failures.join('; ')}). ` +
      `${asRoot ? 'Start as an ordinary user, or set' : 'Set'} DATABASE_URL to a PostgreSQL 14 or newer of your own.`,
  );
}

/** Undefined if the server would run, otherwise why not. */
async function tryOut(
  { prefix }: RunAs,
  trials: string[][],
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  for (const command of trials) {
    const { status, output } = await runProgram([...prefix, ...command], {
      environment: serverEnvironment,
      timeoutMs: 20_000,
      signal,
    });
    if (status !== 0) return output.trim().split('\n').at(-1) ?? '';
  }
  return undefined;
}

const directly: RunAs = { prefix: [], owner: undefined };

/** In its own user namespace the server sees itself and our files as owned by nobody. */
const asNobody: RunAs = { prefix: ['unshare', '--user', `--map-user=${nobody}`], owner: undefined };

function rootCandidates(owner: { uid: number; gid: number } | undefined): RunAs[] {
  // Data of an ordinary user keeps its owner, whom a start under sudo must not lock out.
  const user = owner !== undefined && owner.uid !== 0 ? owner : { uid: nobody, gid: nobody };
  return [
    {
      prefix: [
        'setpriv',
        `--reuid=${user.uid}`,
        `--regid=${user.gid}`,
        '--clear-groups',
        '--securebits=+no_setuid_fixup',
        '--inh-caps=+dac_override',
        '--ambient-caps=+dac_override',
      ],
      owner: user,
    },
    { ...asNobody, owner: { uid: 0, gid: 0 } },
  ];
}

async function ownerOf(clusterDirectory: string): Promise<{ uid: number; gid: number } | undefined> {
  try {
    const { uid, gid } = await stat(join(clusterDirectory, 'PG_VERSION'));
    return { uid, gid };
  } catch {
    return undefined;
  }
}
