import { expect, test } from 'vitest';
import { startProcess } from '../support/services/start-process.js';

test('a process that does not listen in time is ended with the wait for it', async () => {
  const children = () => process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;
  const before = children();
  const environment = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };
  await expect(startProcess('worker', { environment, timeoutMs: 20 })).rejects.toThrow('did not log');
  await expect.poll(children, { timeout: 300 }).toBe(before);
});
