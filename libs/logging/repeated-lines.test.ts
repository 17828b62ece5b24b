import { expect } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { openLogger } from './open-logger.js';
import { RepeatedLines } from './repeated-lines.js';

verifies('operations.log-repeats', 'twice a second for five minutes: about ten lines', () => {
  let now = 0;
  const lines = new RepeatedLines(() => now);
  const due: [number, number][] = [];
  for (; now < 300_000; now += 500) {
    const leftOut = lines.due('away');
    if (leftOut !== undefined) due.push([now / 1_000, leftOut]);
  }
  expect(due.map(([at]) => at)).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183, 243]);
  expect(due.reduce((sum, [, leftOut]) => sum + leftOut + 1, 0)).toBeGreaterThan(480);
  // It came back, and goes away again.
  now += 200_000;
  expect(lines.due('away')).toBe(0);
});

verifies(
  'operations.log-repeats',
  'warnings of a failure; not those about a request, nor of another server',
  async () => {
    const output: string[] = [];
    const destination = { write: (line: string) => void output.push(line) };
    const logger = await openLogger({ service: 'worker', level: 'info', destination });
    const error = new Error('refused');
    for (let index = 0; index < 3; index++) {
      logger.warn({ error, metadata: { server: 'one' } }, 'not connected');
      logger.warn({ error, metadata: { server: 'two' } }, 'not connected');
      logger.warn({ error, requestId: 'r' }, 'not served');
      logger.warn({}, 'no failure');
    }
    const count = (text: string) => output.filter((line) => line.includes(text)).length;
    expect(['one', 'two', 'not served', 'no failure'].map(count)).toEqual([1, 1, 3, 3]);
  },
);
