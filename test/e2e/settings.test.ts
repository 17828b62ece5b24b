// The settings in force, as administrators see them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Settings } from '../../clients/typescript/src/index.js';
import { eventually } from '../support/eventually.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

const directory = mkdtempSync(join(tmpdir(), 'signalbox-settings-'));
const file = join(directory, 'signalbox.yaml');
const canaries = {
  environment: 'canary-environment-31c5',
  header: 'canary-header-88e1',
  argument: 'canary-argument-07bd',
  query: 'canary-query-6d44',
  token: 'canary-token-c0ffee',
};
const configuration = (changes: object = {}) => ({
  tools: { timeout_ms: 30_000 },
  models: {
    aliases: { lost: 'up/nosuch' },
    providers: { up: { kind: 'openai', base_url: 'http://127.0.0.1:9/v1', models: ['m'] } },
  },
  policy: { rules: [{ name: 'first', tool: '*/*', effect: 'allow' }] },
  mcpServers: {
    rough: {
      command: join(directory, 'program'),
      args: ['--token', '${ARGUMENT}'],
      env: { TOKEN: '${IN_ENVIRONMENT}' },
      enabled: false,
    },
    web: { url: 'http://127.0.0.1:9/mcp?api_key=${QUERY}', headers: { 'x-key': '${HEADER}' }, enabled: false },
  },
  ...changes,
});
let box: SignalboxHere;

beforeAll(async () => {
  writeFileSync(file, JSON.stringify(configuration(), null, 2));
  box = await startSignalboxHere({
    scripted: false,
    environment: {
      SIGNALBOX_CONFIG: file,
      LIMITS_TURNS: '123',
      METRICS_TOKEN: canaries.token,
      ARGUMENT: canaries.argument,
      IN_ENVIRONMENT: canaries.environment,
      HEADER: canaries.header,
      QUERY: canaries.query,
    },
  });
});
afterAll(async () => {
  await box?.close();
  rmSync(directory, { recursive: true });
});

async function read(headers: Record<string, string> = {}): Promise<{ status: number; text: string; body: Settings }> {
  const answer = await fetch(`${box.url}/api/settings`, { headers });
  const text = await answer.text();
  return { status: answer.status, text, body: JSON.parse(text) as Settings };
}

verifies('operations.settings', 'each with its value, origin, default, variable and meaning', async () => {
  const { body } = await read();
  const of = (key: string) => body.settings.find((each) => each.key === key);
  expect(of('tools.timeout_ms')).toMatchObject({
    group: 'tools',
    value: 30_000,
    default: 60_000,
    origin: 'file',
    source: expect.stringMatching(/^signalbox\.yaml:\d+$/),
    variable: 'TOOLS_TIMEOUT_MS',
    meaning: expect.stringContaining('Deadline'),
  });
  expect(of('limits.turns')).toMatchObject({ value: 123, origin: 'environment', source: 'LIMITS_TURNS' });
  expect(of('server.keep_alive_ms')).toMatchObject({ value: 15_000, origin: 'default', source: null });
  expect(of('metrics.token')).toMatchObject({ value: 'set', secret: true, origin: 'environment' });
  expect(of('audit.signing_key')).toMatchObject({ value: 'not set', secret: true, origin: 'default' });
  expect(of('models.default')).toMatchObject({ value: null, origin: 'default' });
  expect(of('models.aliases.lost')).toMatchObject({ value: 'up/nosuch', meaning: expect.stringContaining('Aliases') });
  expect(of('models.providers.up.base_url')).toMatchObject({ meaning: 'Address of the API', variable: null });
  expect(of('mcpServers.rough.env.TOKEN')).toMatchObject({ value: 'set' });
  expect(of('policy.rules')).toMatchObject({ value: [expect.objectContaining({ name: 'first' })] });
  // Groups are whole, in the order of the schema.
  const groups = body.settings.map(({ group }) => group);
  expect(groups.filter((group, index) => group !== groups[index - 1])).toEqual([...new Set(groups)]);
  expect(groups[0]).toBe('server');
});

verifies('operations.settings', 'neither secrets nor directories of the host', async () => {
  const { text, body } = await read();
  for (const [name, canary] of Object.entries(canaries)) expect(text.includes(canary), name).toBe(false);
  expect(text).not.toContain(directory);
  expect(text).not.toContain(process.cwd());
  const database = body.settings.find(({ key }) => key === 'database.url');
  expect(String(database?.value)).toMatch(/^postgres(?:ql)?:\/\/\*\*\*@/);
});

verifies('operations.settings', 'versions, health, and names that lead nowhere', async () => {
  const { body } = await read();
  expect(body.versions).toMatchObject({
    node: process.versions.node,
    signalbox: expect.stringMatching(/^\d+\.\d+\.\d+/),
    postgresql: expect.stringMatching(/^\d+/),
  });
  expect(body.versions.mcp.slice(0, 2)).toEqual(['2026-07-28', '2025-11-25']);
  expect(body.versions.redis === null).toBe(box.redis === undefined);
  expect(body.health.checks).toContainEqual({ name: 'store', status: 'ok', reason: null });
  expect(body.health.checks.find(({ name }) => name === 'models')).toMatchObject({ status: 'degraded' });
  expect(body.warnings).toMatchObject([{ setting: 'models.aliases.lost', code: 'misnamed_model' }]);
});

verifies('operations.settings', 'what was changed meanwhile, and what needs a restart or is wrong', async () => {
  const rules = [{ name: 'second', tool: '*/*', effect: 'allow' }];
  const changed = configuration({ policy: { rules }, tools: { timeout_ms: 40_000 } });
  writeFileSync(file, JSON.stringify(changed));
  await eventually(async () => (await read()).text.includes('"second"'));
  const { body } = await read();
  expect(body.settings.find(({ key }) => key === 'tools.timeout_ms')).toMatchObject({ value: 30_000 });
  expect(body.warnings).toContainEqual(expect.objectContaining({ setting: 'tools.timeout_ms', code: 'needs_restart' }));
  writeFileSync(file, JSON.stringify({ ...changed, nonsense: true }));
  await eventually(async () => (await read()).body.warnings.some(({ code }) => code === 'not_applied'));
});

/** Last: from the first key on, every request needs one. */
verifies('operations.settings', 'only for administrators, as the report about models', async () => {
  const make = async (owner: string, scopes: string[], headers: Record<string, string> = {}) => {
    const answer = await fetch(`${box.url}/api/keys`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ owner, scopes }),
    });
    return { authorization: `Bearer ${((await answer.json()) as { key: string }).key}` };
  };
  const root = await make('root', ['admin']);
  const ann = await make('ann', ['chat', 'tools', 'files'], root);
  for (const path of ['/api/settings', '/api/models/health']) {
    const statuses = [root, ann, {}].map(async (headers) => (await fetch(box.url + path, { headers })).status);
    expect(await Promise.all(statuses), path).toEqual([200, 403, 401]);
  }
});
