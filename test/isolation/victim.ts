// A process that stands for the worker or for another server (probe/victim.c), and what it told.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { startCompanion, type Companion } from './companion.js';

export interface Victim extends Companion {
  pid: number;
  secret: string;
  /** Hexadecimal: of the secret, and of what may be overwritten. */
  address: string;
  scratch: string;
  descriptor: number;
  secretFile: string;
  commandLineSecret: string;
  /** Of System V and POSIX objects that it shares. */
  key: number;
  busyFile: string;
}

interface VictimOptions {
  probe: string;
  secretFile: string;
  secret: string;
  busy: string;
  /** Stand before the command. */
  as: readonly string[];
  key: number | undefined;
}

export async function startVictim(options: VictimOptions): Promise<Victim> {
  const commandLineSecret = randomBytes(16).toString('hex');
  const words = [...options.as, options.probe, 'victim', commandLineSecret, options.secretFile, options.busy];
  if (options.key !== undefined) words.push(String(options.key));
  const companion = await startCompanion(
    spawn(words[0]!, words.slice(1), {
      env: { SECRET: options.secret, PATH: '/usr/local/bin:/usr/bin:/bin' },
      stdio: ['pipe', 'pipe', 'inherit'],
      detached: true,
    }),
  );
  const [pid, address = '', scratch = '', descriptor] = companion.words;
  return {
    ...companion,
    ...options,
    pid: Number(pid),
    address,
    scratch,
    descriptor: Number(descriptor),
    commandLineSecret,
    key: options.key ?? 0,
    busyFile: options.busy,
  };
}
