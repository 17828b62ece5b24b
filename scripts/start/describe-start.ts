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

/** Health tells it as text or as an object with a level, at the top or among its checks. */
export function readIsolation(health: unknown[]): string | undefined {
  for (const body of health) {
    for (const place of [body, member(body, 'checks'), member(body, 'details')]) {
      const told = member(place, 'isolation');
      const level = typeof told === 'object' ? (member(told, 'level') ?? member(told, 'status')) : told;
      if (typeof level !== 'string' && typeof level !== 'number') continue;
      const why = member(told, 'reason') ?? member(told, 'message');
      return typeof why === 'string' ? `${level} (${why})` : String(level);
    }
  }
  return undefined;
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
