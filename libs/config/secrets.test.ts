import { expect, test } from 'vitest';
import { readConfig } from './read-config.js';
import { secretValues } from './secrets.js';

test('a path of this machine in `env` of a server is no secret, other values are', () => {
  const env = {
    HERE: import.meta.filename,
    NEW: `${import.meta.dirname}/new.jsonl`,
    KEY: '/8charactersormore',
    OTHER: '/gone/away/x',
  };
  const servers = { MCP_SERVERS: JSON.stringify({ files: { command: 'node', env } }) };
  expect(secretValues(readConfig({ environment: servers }))).toEqual([env.KEY, env.OTHER]);
});
