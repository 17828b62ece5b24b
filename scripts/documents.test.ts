import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { environmentSettings } from '#libs/config/environment.js';
import { readConfig } from '#libs/config/read-config.js';
import { errorTable } from '#libs/schemas/errors.js';
import { verifies } from '../test/verifies.js';
import { checkConfiguration } from './config/check-configuration.js';
import { generatedDocuments } from './documents.js';

const read = (path: string) => readFileSync(path, 'utf8');

verifies('operations.docs-current', 'npm run docs:generate changes nothing', async () => {
  for (const [path, text] of await generatedDocuments()) {
    expect(read(path), `${path} is out of date: npm run docs:generate`).toBe(text);
  }
});

verifies('operations.errors-one-table', 'docs/errors.md lists exactly the table', () => {
  const rows = [...read('docs/errors.md').matchAll(/^\| (\d+)\s+\| `(\w+)`\s+\| `(\w+)`/gm)].map((row) =>
    row.slice(1).join(' '),
  );
  const table = Object.entries(errorTable).map(([code, { http, type }]) => `${http} ${type} ${code}`);
  expect(new Set(rows)).toEqual(new Set(table));
  expect(rows).toHaveLength(table.length);
});

test('.env.example is itself a valid environment that changes nothing', () => {
  const environment: Record<string, string> = {};
  for (const [, name, value] of read('.env.example').matchAll(/^#([A-Z][A-Z0-9_]*)=(.*)$/gm))
    environment[name!] = value!;
  for (const name of environmentSettings.keys()) expect(environment).toHaveProperty(name);
  delete environment['OLLAMA_BASE_URL'];
  expect(readConfig({ environment })).toEqual(readConfig({ environment: {} }));
});

test('the JSON Schema takes the example of the documentation and refuses an unknown key', () => {
  const validate = new Ajv2020({ strict: false, logger: false }).compile(
    JSON.parse(read('config/signalbox.schema.json')) as object,
  );
  const example: unknown = parse(/```yaml\n(.*?)```/s.exec(read('docs/configuration.md'))![1]!);
  expect(validate(example), JSON.stringify(validate.errors)).toBe(true);
  expect(validate({ server: { port: '${MY_PORT}' } })).toBe(true);
  expect(validate({ server: { prot: 1 } })).toBe(false);
});

verifies('operations.config-check', 'in force with origins, or all problems and status 1', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-config-'));
  try {
    const path = join(directory, 'a.yaml');
    writeFileSync(path, 'log:\n  level: warn\n');
    const good = await checkConfiguration({
      SIGNALBOX_CONFIG: path,
      OPENAI_API_KEY: 'canary-5f3a9c',
      LIMITS_ROUNDS: '4',
    });
    expect(good.status).toBe(0);
    expect(good.text).toMatch(/^log\.level +"warn" +\S*a\.yaml:2$/m);
    expect(good.text).toMatch(/^limits\.rounds +4 +environment LIMITS_ROUNDS$/m);
    expect(good.text).toMatch(/^server\.port +8000 +default$/m);
    expect(good.text).toMatch(/^models\.providers\.openai\.api_key +"\*\*\*" +environment OPENAI_API_KEY$/m);
    expect(good.text).not.toContain('canary');
    const bad = await checkConfiguration({ SIGNALBOX_CONFIG: path, PORT: 'x', LIMITS_ROUNDS: '0' });
    expect([bad.status, bad.text.split('\n').length]).toEqual([1, 3]);
    expect((await checkConfiguration({ SIGNALBOX_CONFIG: join(directory, 'b.yaml') })).text).toContain('ENOENT');
  } finally {
    rmSync(directory, { recursive: true });
  }
});

verifies(
  'operations.config-check',
  'a verdict: each name that leads nowhere, each server that would be refused',
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'signalbox-config-'));
    try {
      // A worker of root runs servers as other users.
      chmodSync(directory, 0o755);
      const path = join(directory, 'a.yaml');
      const lines = [
        'models:',
        '  default: nosuch/x',
        '  aliases: { best: [openai/gpt-5.2, gone/b] }',
        '  providers: { openai: { models: [gpt-5.2] } }',
        'mcpServers:',
        '  missing: { command: npx, args: [-y, not-installed-here] }',
        '  unknown: { command: no-such-program }',
        '  open: { command: node, isolation: none }',
        '  off: { command: no-such-program, enabled: false }',
        '  web: { url: "http://127.0.0.1:9/mcp" }',
        '  node: { command: node, isolation: process }',
      ];
      const environment = { PATH: process.env['PATH'], DATA_DIR: directory, OPENAI_API_KEY: 'canary-5f3a9c' };
      const check = async (yaml: string[]) => {
        writeFileSync(path, yaml.join('\n'));
        return checkConfiguration({ ...environment, SIGNALBOX_CONFIG: path });
      };
      // isolation none is refused when the file is read.
      expect(await check(lines)).toEqual({ status: 1, text: expect.stringContaining('mcpServers.open') as string });
      const { status, text } = await check(lines.filter((line) => !line.includes('open:')));
      expect(status).toBe(1);
      for (const finding of [
        /^wrong +models\.default +'nosuch\/x' does not name a provider: .*\(\S*a\.yaml:2\)$/m,
        /^wrong +models\.aliases\.best\[1\] +'gone\/b' does not name a provider/m,
        /^wrong +mcpServers\.missing +the package not-installed-here is not installed: npm install .*\(\S*a\.yaml:6\)$/m,
        /^wrong +mcpServers\.unknown +the program 'no-such-program' was not found/m,
        /^ok +mcpServers\.off +off$/m,
        /^ok +mcpServers\.web +remote$/m,
        /^ok +mcpServers\.node +isolation process$/m,
        /^The configuration has 4 problems\.$/m,
      ]) {
        expect(text).toMatch(finding);
      }
      expect(text).not.toContain('canary');
      const bare = await check(['models: { default: meta-llama/Llama-3 }']);
      expect(bare.text).toMatch(/^ok +models\.default +meta-llama\/Llama-3, which is openai\/meta-llama\/Llama-3$/m);
      const good = await check([]);
      expect([good.status, good.text.split('\n').at(-1)]).toEqual([0, 'The configuration is fine.']);
    } finally {
      rmSync(directory, { recursive: true });
    }
  },
);
