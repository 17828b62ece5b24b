// What `npm start` prints when everything is ready. Never the database's address: it holds a password.

export interface StartFacts {
  gatewayUrl: string;
  workerUrl: string;
  /** Absolute. */
  dataDir: string;
  database: 'embedded' | 'given';
  queue: 'postgres' | 'redis';
  /** What /health/ready of the worker or gateway answered. */
  health: unknown[];
}

export function describeStart(facts: StartFacts): string {
  const { gatewayUrl, workerUrl, dataDir, database, queue } = facts;
  const rows = [
    ['gateway', gatewayUrl],
    ['worker', workerUrl],
    ['database', database === 'embedded' ? `PostgreSQL of its own, in ${dataDir}` : 'PostgreSQL of DATABASE_URL'],
    ['queue', queue === 'redis' ? 'Redis of REDIS_URL' : 'in the database'],
    ['isolation', readIsolation(facts.health) ?? 'not measured'],
    ['API', `${gatewayUrl}/docs`],
  ];
  return [
    '',
    'Signalbox is ready.',
    '',
    ...rows.map(([name = '', value = '']) => `  ${name.padEnd(10)} ${value}`),
    '',
    'Try it:',
    '',
    `  curl ${gatewayUrl}/api/chat/completions -H 'Content-Type: application/json' \\`,
    `    -d '{"messages": [{"role": "user", "content": "Hello"}]}'`,
    '',
    'Ctrl-C stops everything.',
    '',
  ].join('\n');
}

/** From the check named `isolation` of the first report that measured it, with what is wrong with it. */
export function readIsolation(health: unknown[]): string | undefined {
  for (const report of health) {
    const checks = member(report, 'checks');
    const check: unknown = Array.isArray(checks)
      ? checks.find((one) => member(one, 'name') === 'isolation')
      : undefined;
    const reason = member(check, 'reason');
    const level = member(member(check, 'details'), 'level') ?? member(report, 'isolation');
    if (typeof level === 'string') return typeof reason === 'string' ? `${level} (${reason})` : level;
    if (typeof reason === 'string') return reason;
  }
  return undefined;
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
