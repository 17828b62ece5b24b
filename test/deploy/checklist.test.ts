import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../verifies.js';
import { checklist, gatewayCommands } from './checklist.js';
import { composeFile, readText, root, secretsOfServices } from './deployment-files.js';

const programs = [
  'curl',
  'docker',
  'find',
  'git',
  'kubectl',
  'ls',
  'node',
  'npm',
  'npx',
  'promtool',
  'OPENAI_API_KEY=none',
];
const isCommand = (code: string) => programs.some((program) => code.startsWith(`${program} `));
const commands = checklist().flatMap(({ code }) => code.filter(isCommand));
const matches = (pattern: RegExp) =>
  commands.flatMap((command) => [...command.matchAll(pattern)].map(([, one]) => one!));

verifies('deployment.checklist', 'each line has a command', () => {
  const items = checklist();
  expect(items.length).toBeGreaterThan(25);
  expect(items.filter(({ code }) => !code.some(isCommand)).map(({ text }) => text)).toEqual([]);
  expect(gatewayCommands().length).toBeGreaterThan(4);
});

verifies('deployment.checklist', 'services, scripts, files, secrets and alerts that there are', () => {
  const { services } = composeFile();
  const option = String.raw`(?:-\w+|--[\w-]+)(?: (?:\d+|'[^']*'))? `;
  const asked = matches(
    new RegExp(String.raw`docker compose (?:exec|run|stop|start|restart|logs|ps -q) (?:${option})*(\w+)`, 'g'),
  );
  expect(asked.length).toBeGreaterThan(12);
  for (const service of asked) expect(services, service).toHaveProperty(service);
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object };
  for (const script of matches(/npm run ([\w:-]+)/g)) expect(scripts, script).toHaveProperty(script);
  const secrets = Object.entries(secretsOfServices()).flatMap(([name, own]) =>
    own.map((secret) => `${name} ${secret}`),
  );
  const shown = commands.flatMap((command) => [
    ...command.matchAll(/exec (?:-\w+ )*(\w+) [^|]*?\/run\/secrets\/(\w+)/g),
  ]);
  expect(shown.length).toBeGreaterThan(2);
  for (const [, service, secret] of shown) expect(secrets).toContain(`${service} ${secret}`);
  for (const path of matches(/ (config\/\S+)/g)) expect(existsSync(join(root, path)), path).toBe(true);
  for (const path of matches(/node dist\/(\S+)\.js/g)) expect(existsSync(join(root, `${path}.ts`)), path).toBe(true);
  const alerts = readText('config/prometheus/alerts.yml');
  for (const [alert] of readText('docs/deployment-checklist.md').matchAll(/Signalbox[A-Z]\w+/g)) {
    expect(alerts).toContain(`alert: ${alert}\n`);
  }
});
