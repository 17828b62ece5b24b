// Compiles the probe with the compiler of this machine.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** `sources` is test/isolation/probe. Returns the program, in a directory of its own. */
export function buildProbe(sources: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-probe-'));
  chmodSync(directory, 0o755);
  const program = join(directory, 'probe');
  const files = readdirSync(sources).filter((name) => name.endsWith('.c'));
  const { status, stderr, error } = spawnSync('cc', ['-O2', '-pthread', '-o', program, ...files, '-lrt'], {
    cwd: sources,
    encoding: 'utf8',
  });
  if (error !== undefined) throw new Error('the probe needs a C compiler (cc)', { cause: error });
  if (status !== 0) throw new Error(`the probe does not compile:\n${stderr}`);
  return program;
}
