// What `npm start` prints when everything is ready. Never the database's address: it holds a password.
import { firstKeyCommand } from '#libs/config/addresses/check-exposure.js';

export interface StartFacts {
  gatewayUrl: string;
  /** Whether the gateway serves the console. */
  hasConsole: boolean;
  workerUrl: string;
  /** Absolute. */
  dataDir: string;
  database: 'embedded' | 'given';
  queue: 'postgres' | 'redis';
  /** Whether requests need a key; off: by the configuration, whoever asks. */
  keys: 'needed' | 'none' | 'off';
  /** Absolute paths of the files that settings came from, if there are such files. */
  configuration: string | undefined;
  envFile: string | undefined;
  /** What /health/ready of the worker or gateway answered. */
  health: unknown[];
}

const keyModes: Record<StartFacts['keys'], string> = {
  needed: 'every request needs one',
  none: `none yet, so only this machine can connect (${firstKeyCommand})`,
  off: 'not required (auth.mode is off): anyone who can reach the port may use everything',
};

export function describeStart(facts: StartFacts): string {
  const { gatewayUrl, hasConsole, workerUrl, dataDir, database, queue, keys, configuration, envFile } = facts;
  const rows = [
    ...(hasConsole ? [['console', `${gatewayUrl}/console/`]] : []),
    ['gateway', gatewayUrl],
    ['API', `${gatewayUrl}/docs`],
    ...modelRows(facts.health),
    ['configuration', configuration ?? 'no signalbox.yaml: the defaults'],
    ...(envFile === undefined ? [] : [['', envFile]]),
    ['keys', keyModes[keys]],
    ['isolation', readIsolation(facts.health) ?? 'not measured'],
    ['worker', workerUrl],
    ['database', database === 'embedded' ? `embedded PostgreSQL, in ${dataDir}` : 'the PostgreSQL of DATABASE_URL'],
    ['queue', queue === 'redis' ? 'the Redis of REDIS_URL' : 'in the database'],
  ];
  return [
    '',
    'Signalbox is ready.',
    '',
    ...rows.map(([name = '', value = '']) => `  ${name.padEnd(13)}  ${value}`),
    '',
    'Try it:',
    '',
    `  curl ${gatewayUrl}/api/chat/completions -H 'Content-Type: application/json' \\`,
    ...(keys === 'needed' ? [`    -H 'Authorization: Bearer YOUR_KEY' \\`] : []),
    `    -d '{"messages": [{"role": "user", "content": "Hello"}]}'`,
    '',
    'Ctrl-C stops everything.',
    '',
  ].join('\n');
}

/** From the check named `models`: the model that answers, and below it what is wrong with the providers. */
function modelRows(health: unknown[]): string[][] {
  const check = findCheck(health, 'models');
  const model = member(member(check, 'details'), 'model');
  const reason = member(check, 'reason');
  const shown = model === 'offline' ? 'offline, which needs no key (for a real one: docs/models.md)' : model;
  return [
    ['model', typeof shown === 'string' ? shown : 'not known yet: see /health/ready'],
    ...(typeof reason === 'string' ? [['', reason]] : []),
  ];
}

/** From the check named `isolation` of the first report that measured it, with what is wrong with it. */
export function readIsolation(health: unknown[]): string | undefined {
  for (const report of health) {
    const check = findCheck([report], 'isolation');
    const reason = member(check, 'reason');
    const level = member(member(check, 'details'), 'level') ?? member(report, 'isolation');
    if (typeof level === 'string') return typeof reason === 'string' ? `${level} (${reason})` : level;
    if (typeof reason === 'string') return reason;
  }
  return undefined;
}

function findCheck(health: unknown[], name: string): unknown {
  return health.flatMap((report) => member(report, 'checks')).find((check) => member(check, 'name') === name);
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
