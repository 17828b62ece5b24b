// The embedded PostgreSQL: when its owner dies, as an ordinary user, and with binaries that cannot be written.
import { execFileSync } from 'node:child_process';
import { chmod, chown, cp, mkdir, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findNativeDirectory } from '#libs/embedded-postgres/binaries.js';
import { verifies } from '../verifies.js';
import { killAll, root, run, untilNoneWith, type Program } from './processes.js';

const nobody = 65_534;
const fixture = join(root, 'test/faults/fixtures/own-postgres.mjs');
const asNobody = ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'];

let directory: string;
let programs: Program[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'signalbox-owner-'));
  programs = [];
});

afterEach(async () => {
  await killAll(programs);
  expect(await untilNoneWith(directory)).toEqual([]);
  await rm(directory, { recursive: true, force: true });
});

async function own(dataDir: string, prefix: string[] = [], more: string[] = []) {
  const program = run([...prefix, process.execPath, fixture, dataDir, ...more]);
  programs.push(program);
  const facts = JSON.parse(await program.line(/^\{/)) as { url: string; code?: string; message?: string };
  return { program, ...facts };
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query('select 1')).rowCount === 1;
  } finally {
    await client.end();
  }
}

verifies('operations.postgres-ends-with-owner', 'its owner is killed -9', async () => {
  const { program, url } = await own(directory);
  expect(await answers(url)).toBe(true);
  program.process.kill('SIGKILL');
  expect(await untilNoneWith(directory)).toEqual([]);
});

verifies('operations.postgres-crash-blocks-nothing', 'a start right after the owner was killed -9', async () => {
  const first = await own(directory);
  first.program.process.kill('SIGKILL');
  expect(await answers((await own(directory)).url)).toBe(true);
});

verifies('operations.postgres-second-start', 'by another process', async () => {
  const first = await own(directory);
  const second = await own(directory);
  expect(second.code).toBe('already_running');
  expect(second.message).toContain(`process ${first.program.process.pid}`);
  expect(await answers(first.url)).toBe(true);
});

describe.skipIf(!canBeNobody())(
  'as an ordinary user (needs root, setpriv, and a checkout that others can read)',
  () => {
    beforeEach(() => chown(directory, nobody, nobody));

    verifies('operations.postgres-ordinary-user', 'in a directory of mode 0700', async () => {
      const { program, url } = await own(join(directory, 'data'), asNobody);
      expect(await answers(url)).toBe(true);
      program.process.kill('SIGTERM');
      expect(await program.ended).toBe(0);
      expect(await untilNoneWith(directory)).toEqual([]);
    });

    verifies('operations.postgres-read-only-binaries', 'links are made in a copy, once', async () => {
      const native = join(directory, 'package', 'native');
      await copyWithoutLinks(native);
      const data = join(directory, 'data');
      for (const _ of ['first', 'second']) {
        const { program, url } = await own(data, asNobody, [native]);
        expect(await answers(url)).toBe(true);
        program.process.kill('SIGTERM');
        expect(await program.ended).toBe(0);
      }
      expect(await readdir(join(native, 'lib'))).not.toContain('libpq.so.5');
      expect(await readdir(join(data, 'postgres-binaries'))).toHaveLength(1);
    });

    verifies('operations.data-dir-unusable', 'owned by someone else', async () => {
      const data = join(directory, 'data');
      await mkdir(data);
      const refused = await own(data, asNobody);
      expect(refused.code).toBe('data_dir_unusable');
      expect(refused.message).toContain('DATA_DIR');
    });

    test('a start as root leaves an ordinary user their data', async () => {
      for (const prefix of [asNobody, [], asNobody]) {
        const { program, url, message } = await own(join(directory, 'data'), prefix);
        expect(message).toBeUndefined();
        expect(await answers(url)).toBe(true);
        program.process.kill('SIGTERM');
        expect(await program.ended).toBe(0);
      }
    });
  },
);

/** As npm installs it without install scripts, in a directory that only its owner, root, can write. */
async function copyWithoutLinks(native: string): Promise<void> {
  const original = findNativeDirectory();
  await cp(original, native, { recursive: true, verbatimSymlinks: true });
  await cp(join(original, '..', 'package.json'), join(native, '..', 'package.json'));
  const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as { target: string }[];
  for (const { target } of links) await rm(join(native, '..', target), { force: true });
  await chmod(join(native, 'lib'), 0o555);
}

/** Whether the test can switch to the user `nobody`, which can read the program. */
function canBeNobody(): boolean {
  if (process.getuid?.() !== 0) return false;
  try {
    execFileSync(asNobody[0]!, [...asNobody.slice(1), process.execPath, '-e', `fs.readFileSync('${fixture}')`]);
    return true;
  } catch {
    return false;
  }
}
