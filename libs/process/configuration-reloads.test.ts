import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { openConfigReader } from '#libs/config/load-config.js';
import type { Config } from '#libs/config/schema.js';
import { silentLogger, type LogFields } from '#libs/logging/logger.js';
import { verifies } from '../../test/verifies.js';
import { ConfigurationReloads, type ReloadOutcome } from './configuration-reloads.js';

const opened: { reloads: ConfigurationReloads; directory: string }[] = [];
afterEach(async () => {
  for (const { reloads, directory } of opened.splice(0)) {
    await reloads.close();
    rmSync(directory, { recursive: true });
  }
});

const web = (...names: string[]) =>
  `mcpServers:\n${names.map((name) => `  ${name}: { url: 'http://127.0.0.1:9/' }\n`).join('')}`;

function setUp(text: string, environment: Record<string, string> = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'reloads-'));
  const path = join(directory, 'signalbox.yaml');
  writeFileSync(path, text);
  const reader = openConfigReader({ SIGNALBOX_CONFIG: path, ...environment });
  const outcomes: ReloadOutcome[] = [];
  const applied: string[][] = [];
  const lines: { message: string; fields: LogFields }[] = [];
  const secrets: string[][] = [];
  let running = 0;
  const record = (fields: LogFields, message: string) => void lines.push({ fields, message });
  const reloads = new ConfigurationReloads({
    started: reader.read(),
    reader,
    apply: async ({ mcpServers: servers }: Config) => {
      expect((running += 1)).toBe(1);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      applied.push(Object.keys(servers));
    },
    strikeOut: (values) => void secrets.push([...values]),
    onOutcome: (outcome) => void outcomes.push(outcome),
    logger: { ...silentLogger, info: record, warn: record, error: record },
  });
  const set = { directory, path, reloads, outcomes, applied, lines, secrets };
  opened.push(set);
  return set;
}

verifies(
  'operations.config-reload',
  'a broken file is reported in one line without its secrets, and changes nothing',
  async () => {
    const { path, reloads, outcomes, applied, lines } = setUp(web('a'));
    for (const broken of [
      'mcpServers: *canary-9471',
      'mcpServers: { b: {} }\nserver: { port: canary-9471 }\nnope: 1',
    ]) {
      writeFileSync(path, broken);
      await reloads.request('test');
    }
    rmSync(path);
    await reloads.request('test');
    expect([outcomes, applied]).toEqual([['rejected', 'rejected', 'rejected'], []]);
    expect(reloads.problem).toContain('a problem');
    expect(lines.map(({ fields }) => (fields.metadata!['problems'] as string[]).length)).toEqual([1, 2, 1]);
    expect(lines[0]!.fields.metadata!['problems']).toEqual([expect.not.stringContaining('canary')]);
    writeFileSync(path, web('a', 'b'));
    await reloads.request('test');
    expect([reloads.problem, outcomes.at(-1), applied]).toEqual([undefined, 'applied', [['workspace', 'a', 'b']]]);
  },
);

verifies('operations.config-reload', 'one after the other, and the last wins', async () => {
  const { path, reloads, applied, outcomes } = setUp(web('a'));
  const first = reloads.request('test');
  writeFileSync(path, web('b'));
  void reloads.request('test');
  writeFileSync(path, web('c'));
  await reloads.request('test');
  await first;
  expect(applied.map((names) => names.at(-1))).toEqual(['a', 'c']);
  expect(outcomes).toEqual(['unchanged', 'applied']);
});

verifies('operations.config-reload', 'settings that need a restart are named by their keys', async () => {
  const environment = { WHOLE_KEY: 'canary-key-9471' };
  const { path, reloads, lines, secrets } = setUp(web('a'), environment);
  const more = "  b: { url: 'http://127.0.0.1:9/', headers: { Authorization: 'Bearer ${WHOLE_KEY}' } }\n";
  const models = "models: { providers: { x: { kind: anthropic, api_key: '${WHOLE_KEY}' } } }\n";
  writeFileSync(path, `${web('a')}${more}tools: { timeout_ms: 5 }\n${models}`);
  await reloads.request('test');
  expect(lines[0]!.fields.metadata).toEqual({ settings: ['models.providers.x', 'tools.timeout_ms'] });
  expect(lines[1]!.fields.metadata).toEqual({ why: 'test', added: ['b'], changed: [], removed: [] });
  expect(JSON.stringify(lines)).not.toContain('canary');
  expect(secrets.at(-1)).toContain('Bearer canary-key-9471');
});

verifies('operations.config-reload', 'the file is watched: written in place, and renamed over', async () => {
  const { path, reloads, applied } = setUp(web('a'));
  reloads.start();
  writeFileSync(path, web('b'));
  await expect.poll(() => applied.at(-1), { timeout: 20_000 }).toContain('b');
  writeFileSync(`${path}.new`, web('c'));
  renameSync(`${path}.new`, path);
  await expect.poll(() => applied.at(-1), { timeout: 20_000 }).toContain('c');
});

verifies(
  'openapi.documents',
  'a changed document counts as a change of its server, the same text again does not',
  async () => {
    const { directory, path, reloads, outcomes, lines } = setUp('mcpServers: { constructor: { openapi: ./api.json } }');
    const document = join(directory, 'api.json');
    for (const text of ['{"openapi":"3.0.0"}', '{"openapi":"3.1.0"}', '{"openapi":"3.1.0"}']) {
      writeFileSync(document, text);
      await reloads.request('test');
    }
    rmSync(document);
    await reloads.request('test');
    await reloads.request('test');
    expect(outcomes).toEqual(['applied', 'applied', 'unchanged', 'applied', 'unchanged']);
    expect(lines.map(({ fields }) => fields.metadata!['changed'])).toEqual([
      ['constructor'],
      ['constructor'],
      [],
      ['constructor'],
      [],
    ]);
    writeFileSync(path, web('toString'));
    await reloads.request('test');
    expect(lines.at(-1)!.fields.metadata).toMatchObject({ added: ['toString'], changed: [], removed: ['constructor'] });
  },
);
