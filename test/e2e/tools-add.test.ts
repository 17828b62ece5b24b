// `signalbox tools add`, as it is built, in a directory of its own.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect } from 'vitest';
import { runProgram } from '../support/run-program.js';
import { verifies } from '../verifies.js';

const program = fileURLToPath(new URL('../../scripts/signalbox.mjs', import.meta.url));
const remote = { url: 'https://crm.example/mcp', headers: { Authorization: 'Bearer canary-1' } };
let directory: string;
const at = (name: string) => join(directory, name);
const textOf = (name: string) => readFileSync(at(name), 'utf8');

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tools-add-'));
  writeFileSync(at('signalbox.yaml'), '# ours\nserver: { port: 8123 } # the port\n');
});
afterEach(() => rmSync(directory, { recursive: true }));

const add = (words: string[], environment: Record<string, string> = {}) =>
  runProgram(process.execPath, [program, 'tools', 'add', ...words], {
    cwd: directory,
    env: { PATH: process.env['PATH'], HOME: directory, ...environment },
    timeoutMs: 60_000,
  });
const write = (name: string, value: unknown) => writeFileSync(at(name), JSON.stringify(value));

verifies('tools.add', 'it is shown without --yes, and written with it; the secret goes into .env', async () => {
  write('claude.json', { mcpServers: { crm: remote } });
  const shown = await add(['--from', 'claude.json']);
  expect(shown).toMatchObject({ code: 0, stderr: '' });
  expect(shown.stdout).toContain('reaches         crm.example');
  expect(shown.stdout).toContain('Nothing was written');
  expect(existsSync(at('.env'))).toBe(false);
  const added = await add(['crm', '--from', 'claude.json', '--as', 'sales', '--yes']);
  expect([added.code, added.stderr]).toEqual([0, '']);
  expect(added.stdout).toContain('restart Signalbox');
  expect(textOf('signalbox.yaml')).toBe(
    '# ours\nserver: { port: 8123 } # the port\nmcpServers:\n  sales:\n    url: https://crm.example/mcp\n' +
      '    headers:\n      Authorization: Bearer ${MCP_SALES_AUTHORIZATION}\n',
  );
  expect(textOf('.env')).toBe("MCP_SALES_AUTHORIZATION='canary-1'\n");
  expect(statSync(at('.env')).mode & 0o777).toBe(0o600);
  expect(shown.stdout + added.stdout).not.toContain('canary-1');
  const again = await add(['--from', 'claude.json', '--as', 'sales', '--yes']);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('is in signalbox.yaml already') as string });
});

verifies('tools.add', 'what a server would run and reach, and what keeps it from running', async () => {
  mkdirSync(at('notes'));
  const files = { command: 'npx', args: ['-y', 'not-installed-server@1.2.3', './notes'] };
  write('mcp.json', { servers: { files, box: { command: 'docker', args: ['run', 'x'] } } });
  const { stdout } = await add(['--from', 'mcp.json', '--network', 'api.example.com']);
  expect(stdout).toMatch(/cannot run yet {2}the package not-installed-server is not installed: npm install/);
  expect(stdout).toMatch(/files {11}~\/notes \(may be changed\)/);
  expect(stdout).toMatch(/network {9}api\.example\.com/);
  expect(stdout).toContain('a confined server cannot start containers');
});

verifies('tools.add', 'nothing is written that a start would refuse', async () => {
  const before = textOf('signalbox.yaml');
  const needing = { name: 'a/b', remotes: [{ type: 'sse', url: 'https://{t}.example/', variables: { t: {} } }] };
  write('server.json', needing);
  const unset = await add(['--from', 'server.json', '--yes']);
  expect(unset).toMatchObject({ code: 1, stderr: expect.stringMatching(/set first.*\nMCP_B_T=\n/) as string });
  write('claude.json', { mcpServers: { x: { url: 'ftp://a.example' } } });
  const wrong = await add(['--from', 'claude.json', '--yes']);
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('would not start with it') as string });
  expect(textOf('signalbox.yaml')).toBe(before);
  expect(await add(['--from', 'server.json', '--yes'], { MCP_B_T: 'acme' })).toMatchObject({ code: 0 });
});

verifies('tools.add', 'an address: of this machine also by http, of others by https, with bounds', async () => {
  const web = createServer((request, reply) => {
    if (request.url === '/huge') reply.end(Buffer.alloc(1_100_000, ' '));
    else if (request.url === '/moved') reply.writeHead(302, { location: '/' }).end();
    else reply.end(JSON.stringify({ server: { name: 'a/crm', remotes: [{ type: 'streamable-http', ...remote }] } }));
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  try {
    const [read, huge, moved, plain, inside] = await Promise.all([
      add(['--from', `${url}/`]),
      add(['--from', `${url}/huge`]),
      add(['--from', `${url}/moved`]),
      add(['--from', 'http://example.com/']),
      add(['--from', 'https://10.0.0.1/']),
    ]);
    expect(read.stdout).toContain('url: https://crm.example/mcp');
    expect([huge.code, moved.stderr]).toEqual([1, expect.stringContaining('give the address that it leads to')]);
    expect([plain.stderr, inside.stderr]).toEqual([
      'only https addresses are read\n',
      expect.stringContaining('private or reserved'),
    ]);
  } finally {
    web.close();
  }
});
