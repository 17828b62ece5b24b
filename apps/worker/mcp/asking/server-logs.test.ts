import { afterAll, beforeAll, expect } from 'vitest';
import type { ToolLog, ToolLogLevel } from '#libs/schemas/tool-job.js';
import { fixture, openToolServers, type ToolServers } from '../../../../test/support/tool-servers.js';
import { verifies } from '../../../../test/verifies.js';
import { readServerLog } from './server-logs.js';

let servers: ToolServers;
beforeAll(async () => {
  servers = await openToolServers({ old: { command: 'node', args: [fixture('old-sdk')] } });
});
afterAll(() => servers?.close());

async function logsAt(logLevel: ToolLogLevel | undefined): Promise<ToolLog[]> {
  const logs: ToolLog[] = [];
  const options = { onLog: (log: ToolLog) => void logs.push(log), ...(logLevel === undefined ? {} : { logLevel }) };
  await servers.call('old', 'talk', { options });
  return logs;
}

verifies('tools.logs', 'a server of before 2026 is asked for the level that the call wants', async () => {
  const severe = { level: 'error', logger: 'chatter', data: { text: 'careful' } };
  expect(await logsAt('warning')).toEqual([severe]);
  expect(await logsAt('debug')).toEqual([{ level: 'debug', data: 'details' }, severe]);
  // The server still sends everything: each call gets what it wants.
  expect(await logsAt('error')).toEqual([severe]);
  expect(await logsAt(undefined)).toEqual([]);
});

verifies('tools.logs', 'a message is bounded, and none that cannot be read is passed on', async () => {
  expect(readServerLog({ level: 'info', data: 'x'.repeat(10_000) }, 'debug')).toMatchObject({
    data: expect.stringMatching(/^.{2001}$/) as string,
  });
  expect(readServerLog({ level: 'loud', data: 1 }, 'debug')).toBeUndefined();
  expect(readServerLog({ level: 'info' }, 'debug')).toBeUndefined();
  expect(readServerLog(null, 'debug')).toBeUndefined();
});
