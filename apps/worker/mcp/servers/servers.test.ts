import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig } from '#libs/config/read-config.js';
import { silentLogger } from '#libs/logging/logger.js';
import { installedPath } from '#libs/process/find-installed.js';
import { Workspaces } from '#libs/workspace/workspaces.js';
import { findTestIsolation } from '../../../../test/support/isolation.js';
import { verifies } from '../../../../test/verifies.js';
import { ServerPool } from '../pool/pool.js';
import { Isolation } from '../../sandbox/isolation.js';
import { ServerStarts } from './server-starts.js';
import { CommandRefused, resolveCommand } from '../../sandbox/resolve-command.js';
import { configuredServers, type ConfiguredServers } from './servers.js';
import { ShownPaths } from './shown-paths.js';

async function configured(
  mcpServers: object,
  environment: Record<string, string> = {},
  isolation = findTestIsolation(),
): Promise<ConfiguredServers> {
  const directory = mkdtempSync(join(tmpdir(), 'servers-'));
  const text = JSON.stringify({ mcpServers });
  const config = readConfig({ environment, file: { path: 'signalbox.yaml', text } });
  return configuredServers({
    starts: new ServerStarts({ limit: 1 }),
    config,
    builtins: new Map(),
    workspaces: await Workspaces.open(directory, { maxBytes: 1, maxFiles: 1, maxDepth: 1 }),
    environment: { PATH: process.env['PATH'] ?? '' },
    packageRoots: [directory],
    configDirectory: directory,
    isolation: await isolation,
    logger: silentLogger,
  });
}

verifies('tools.servers-configured', 'in the form of Claude Desktop, with what may be said beside it', async () => {
  const { servers, refused } = await configured(
    {
      files: { command: 'node', args: ['/srv/files.mjs', '${WORKSPACE}'], env: { KEY: '${A_KEY}' }, timeout_ms: 5 },
      docs: { type: 'http', url: 'https://example.com/mcp', trusted: true },
      off: { command: 'node', disabled: true },
      gone: { command: 'no-such-program' },
      lost: { command: 'npx', args: ['-y', '@scope/not-here@2.1.0', 'x'] },
      mixed: { command: 'node', args: ['${WORKSPACE}'], scope: 'shared' },
    },
    { MIN_ISOLATION: 'process', A_KEY: 'value' },
  );
  expect(servers.map(({ name, scope, trusted, isolation }) => [name, scope, trusted, isolation])).toEqual([
    ['files', 'session', false, 'process'],
    ['docs', 'shared', true, 'remote'],
  ]);
  expect(refused).toEqual([
    { name: 'workspace', code: 'tool_unavailable', reason: "there is no builtin server 'workspace'" },
    { name: 'gone', code: 'tool_unavailable', reason: "the program 'no-such-program' was not found" },
    {
      name: 'lost',
      code: 'tool_unavailable',
      reason: 'the package @scope/not-here is not installed: npm install @scope/not-here@2.1.0',
    },
    { name: 'mixed', code: 'tool_unavailable', reason: expect.stringContaining('its scope is shared') },
  ]);
});

verifies('tools.isolation-never-weakened', 'the default, a server of its own, all of them', async () => {
  const given = { plain: { command: 'node' }, weaker: { command: 'node', isolation: 'process' } };
  const without = Isolation.find({
    path: '',
    maxFileBytes: 1,
    allowUnsandboxed: false,
    launcher: '/nowhere/launcher',
    logger: silentLogger,
  });
  const strict = await configured(given, {}, without);
  expect(strict.servers.map(({ name }) => name)).toEqual(['weaker']);
  const refusal = strict.refused.find(({ name }) => name === 'plain');
  expect(refusal).toMatchObject({
    code: 'isolation_too_low',
    reason: expect.stringMatching(/'confined'.*does not have.*"isolation: process" would run it with less/),
  });
  const user = { principal: 'local', sessionId: 's', directory: 's' };
  const options = { user, signal: AbortSignal.timeout(1_000), deadline: Date.now() + 1_000 };
  const call = new ServerPool(strict, silentLogger).use('plain', options, async () => 1);
  await expect(call).rejects.toMatchObject({ code: 'isolation_too_low' });
  const stronger = { strong: { command: 'node', isolation: 'namespace' } };
  expect((await configured(stronger, { MIN_ISOLATION: 'process' }, without)).servers).toEqual([]);
});

verifies('tools.servers-configured', 'npx means the installed package', () => {
  const root = mkdtempSync(join(tmpdir(), 'packages-'));
  const install = (name: string, manifest: object) => {
    mkdirSync(join(root, 'node_modules', name), { recursive: true });
    writeFileSync(join(root, 'node_modules', name, 'package.json'), JSON.stringify(manifest));
  };
  install('@scope/one', { version: '1.2.3', bin: { 'any-name': 'cli.js' } });
  install('two', { version: '2.0.0', bin: { two: 'two.js', other: 'other.js' } });
  install('many', { version: '1.0.0', bin: { a: 'a.js', b: 'b.js' } });
  const places = { path: '', packageRoots: [join(root, 'below')], directory: root };
  const npx = (...args: string[]) => resolveCommand('npx', args, places);
  const file = process.execPath;
  const packages = join(root, 'node_modules');
  const one = join(packages, '@scope/one/cli.js');
  for (const spec of ['@scope/one', '@scope/one@latest', '@scope/one@1.2.3', '@scope/one@1']) {
    expect(npx('-y', spec, '-y', 'arg')).toEqual({ file, args: [one, '-y', 'arg'], packages });
  }
  expect(npx('two')).toEqual({ file, args: [join(packages, 'two/two.js')], packages });
  expect(() => npx('@scope/one@1.2.4')).toThrow('npm install @scope/one@1.2.4');
  // Beside a checkout, which has a package.json of its own.
  const inCheckout = { path: '', packageRoots: [], directory: installedPath('.') };
  expect(() => resolveCommand('npx', ['not-here'], inCheckout)).toThrow('(cd .. && npm install not-here)');
  for (const args of [['-y'], ['--package=two', 'two'], ['../two'], ['many'], ['./two']]) {
    expect(() => npx(...args), args.join(' ')).toThrow(CommandRefused);
  }
});

test('paths are translated where they stand as a whole name, and nowhere else', () => {
  const paths = new ShownPaths({ host: '/data/ws/ab c', shown: '/mcp_workspaces/s' }, [
    { host: '/data/ws', shown: '/mcp_workspaces' },
  ]);
  const given = {
    path: '/mcp_workspaces/s/x',
    list: ['/mcp_workspaces/sess', 'in /mcp_workspaces/s, too'],
    n: 1,
    no: null,
  };
  expect(paths.toHost(given)).toEqual({
    path: '/data/ws/ab c/x',
    list: ['/mcp_workspaces/sess', 'in /data/ws/ab c, too'],
    n: 1,
    no: null,
  });
  expect(paths.toShown({ '/data/ws/ab c': ['file:///data/ws/ab%20c/y', '/data/ws/other', '/data/wsx'] })).toEqual({
    '/mcp_workspaces/s': ['file:///mcp_workspaces/s/y', '/mcp_workspaces/other', '/data/wsx'],
  });
});
