// Built processes with `workspaces.quota: hard` that may not mount: as root without capabilities, and not as root.
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '#libs/testing/services/test-database.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const withoutCapabilities = ['--bounding-set=-all', '--inh-caps=-all'];
let database: TestDatabase;
let directory: string;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signalbox-hard-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Ends by itself, or is killed at the deadline. */
function start(app: 'gateway' | 'worker', privileges: readonly string[]) {
  const environment = {
    PATH: process.env['PATH'],
    DATABASE_URL: database.url,
    WORKSPACES_DIR: join(directory, 'workspaces'),
    WORKSPACES_QUOTA: 'hard',
    PORT: '0',
    SERVER_WORKER_PORT: '0',
  };
  const command = [...privileges, '--', process.execPath, join(root, 'dist/apps', app, 'main.js')];
  return new Promise<{ code: unknown; output: string }>((resolve) => {
    execFile('setpriv', command, { cwd: directory, env: environment, timeout: 30_000 }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? error?.signal ?? 0, output: stdout + stderr }),
    );
  });
}

describe.skipIf(process.getuid?.() !== 0)('hard quotas where they may not be mounted (needs root)', () => {
  for (const app of ['gateway', 'worker'] as const) {
    test(`a ${app} that is root without CAP_SYS_ADMIN refuses to start and says what to do`, async () => {
      const { code, output } = await start(app, withoutCapabilities);
      expect(output).toContain('workspaces.quota: hard needs root with CAP_SYS_ADMIN');
      expect(output).toContain('or set soft');
      expect(code).toBe(1);
      expect(readdirSync(join(directory, 'workspaces'))).toEqual([]);
    });
  }

  test('an ordinary user is refused too, who may write the directory', async () => {
    chmodSync(directory, 0o755);
    mkdirSync(join(directory, 'workspaces'));
    chmodSync(join(directory, 'workspaces'), 0o777);
    const { code, output } = await start('worker', ['--reuid=65534', '--regid=65534', '--clear-groups']);
    expect(output).toContain('workspaces.quota: hard needs root with CAP_SYS_ADMIN');
    expect(code).toBe(1);
  });
});
