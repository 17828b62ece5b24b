// The package of `npm pack`, installed in an empty directory without a build, without development packages and without a
// network: its dependencies are linked from this checkout, and only those that it names.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import { verifies } from '../verifies.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const megabyte = 1_000_000;
let directory: string;
let program: string;
let packed: { size: number; files: { path: string }[] };
let running: ChildProcess | undefined;

interface Manifest {
  bin: { signalbox: string };
  dependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
}

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'signalbox-package-'));
  // Without scripts: what these tests run is built already.
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', directory];
  const reported = JSON.parse(execFileSync('npm', pack, { cwd: root, encoding: 'utf8' })) as (typeof packed & {
    filename: string;
  })[];
  const { filename, ...rest } = reported[0]!;
  packed = rest;
  const installed = join(directory, 'node_modules/signalbox');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', join(directory, filename), '--strip-components=1', '-C', installed]);
  const { bin, dependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(installed, 'package.json'), 'utf8'),
  ) as Manifest;
  program = join(installed, bin.signalbox);
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    const from = join(root, 'node_modules', name);
    const to = join(directory, 'node_modules', name);
    mkdirSync(dirname(to), { recursive: true });
    if (existsSync(from)) symlinkSync(from, to);
  }
}, 60_000);

afterAll(async () => {
  if (running !== undefined && running.exitCode === null) {
    const ended = new Promise((resolve) => running!.once('exit', resolve));
    running.kill('SIGKILL');
    await ended;
  }
  rmSync(directory, { recursive: true, force: true });
});

verifies('operations.package', 'it holds what runs, and no sources, tests or development', () => {
  const paths = packed.files.map(({ path }) => path);
  // A good third is the console, whose files are there as they are, in brotli and in gzip; a quarter is the dictionary of the search.
  expect(packed.size).toBeLessThan(4.6 * megabyte);
  expect(paths).toEqual(
    expect.arrayContaining(['dist/apps/gateway/main.js', 'dist/dictionary.txt', 'scripts/signalbox.mjs', 'LICENSE']),
  );
  expect(
    paths.filter((path) =>
      /^(?:apps\/(?!worker\/sandbox\/launcher\/)|libs|test|docs|\.)|\.(?:map|tsbuildinfo)$|\.test\./.test(path),
    ),
  ).toEqual([]);
});

verifies('operations.package', 'it can compile the launcher for another kind of machine than packed it', () => {
  const installed = join(directory, 'node_modules/signalbox');
  const launcher = join(installed, `dist/launcher-${process.arch}`);
  rmSync(launcher);
  execFileSync(process.execPath, [join(installed, 'scripts/build-launcher.mjs')], { cwd: directory });
  accessSync(launcher, constants.X_OK);
});

verifies(
  'operations.package',
  'signalbox start answers offline and runs a tool, in the directory that it is started in',
  async () => {
    const port = await freePort();
    running = spawn(process.execPath, [program, 'start'], {
      cwd: directory,
      env: { PATH: process.env['PATH'], HOST: '127.0.0.1', PORT: String(port), SERVER_WORKER_PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    running.stdout!.on('data', (bytes: Buffer) => (said += bytes.toString()));
    await expect.poll(() => said, { timeout: 60_000, interval: 100 }).toContain('Signalbox is ready');
    const response = await fetch(`http://127.0.0.1:${port}/api/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        messages: [{ role: 'user', content: 'Write "hello" to notes.txt' }],
        tools: [{ type: 'mcp', server_label: 'workspace' }],
      }),
    });
    expect(await response.json()).toMatchObject({ model: 'offline', tool_execution: { tools_called: ['write_file'] } });
    expect(existsSync(join(directory, '.data'))).toBe(true);
    const ended = new Promise((resolve) => running!.once('exit', resolve));
    running.kill('SIGTERM');
    expect(await ended).toBe(0);
  },
  120_000,
);

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
