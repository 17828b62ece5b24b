// What a retry with the same Idempotency-Key gets, in one process.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect } from 'vitest';
import { AppError } from '#libs/schemas/errors.js';
import {
  openGateway,
  queuePathOfFile,
  requestContext,
  type Services,
  type TestGateway,
} from '../support/queue-path.js';
import { verifies } from '../verifies.js';

const path = queuePathOfFile();
let first: TestGateway;
let second: TestGateway;

beforeAll(async () => {
  first = path.gateway;
  second = await openGateway(path.services);
});
afterAll(() => second?.close());

interface Asked {
  name: string;
  args: object;
  key: string;
  context?: Parameters<typeof requestContext>[0];
}

async function ask(gateway: TestGateway, { name, args, key, context }: Asked) {
  const request = { name, argumentsText: JSON.stringify(args), idempotencyKey: key };
  const call = await gateway.keyed.prepare(request, requestContext(context));
  return call.run(() => undefined);
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'no error',
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  );

verifies('reliability.keyed-call-once', 'twenty at once on two gateways, and one more afterwards', async () => {
  const asked = { name: 'append', args: { text: randomUUID() }, key: randomUUID() };
  const all = await Promise.all(Array.from({ length: 20 }, (_each, n) => ask(n % 2 ? first : second, asked)));
  all.push(await ask(second, asked));
  expect(new Set(all.map(({ id }) => id)).size).toBe(1);
  expect(new Set(all.map(({ sessionId }) => sessionId)).size).toBe(1);
  expect(all.every(({ outcome }) => outcome.state === 'completed')).toBe(true);
  expect(path.worker.probe.effects.filter((text) => text === asked.args.text)).toHaveLength(1);
  expect(await path.services.rows('select 1 from audit_events where call_id = $1', [all[0]!.id])).toHaveLength(1);
});

verifies('reliability.keyed-call-once', 'a failed and a refused call answer as they did', async () => {
  const key = randomUUID();
  const failed = await ask(first, { name: 'fail', args: {}, key });
  expect(failed.outcome).toMatchObject({ state: 'failed', error: { code: 'tool_failed' } });
  const again = await ask(second, { name: 'fail', args: {}, key });
  expect(again.id).toBe(failed.id);
  expect(again.outcome).toEqual(failed.outcome);

  const refused = { name: 'echo', args: { text: 5 }, key: randomUUID() };
  expect(await codeOf(ask(first, refused))).toBe('invalid_tool_arguments');
  expect(await codeOf(ask(second, refused))).toBe('invalid_tool_arguments');
  const audited = 'select 1 from audit_events join runs on runs.id = run_id where idempotency_key = $1';
  expect(await path.services.rows(audited, [refused.key])).toHaveLength(1);
});

verifies('reliability.keyed-call-once', 'a caller who left is told when it comes back', async () => {
  const gone = new AbortController();
  const asked = { name: 'slow', args: { ms: 600 }, key: randomUUID() };
  const left = codeOf(ask(first, { ...asked, context: { signal: gone.signal } }));
  await expect.poll(() => path.worker.probe.running).toBe(1);
  gone.abort(new AppError('cancelled', 'The client has gone'));
  expect(await left).toBe('cancelled');
  expect((await ask(second, asked)).outcome).toMatchObject({ state: 'completed' });
  expect(path.worker.probe.mostRunning).toBe(1);
});

verifies('reliability.keyed-call-mismatch', 'other arguments, another tool, another session', async () => {
  const key = randomUUID();
  await ask(first, { name: 'append', args: { text: key }, key });
  expect(await codeOf(ask(first, { name: 'append', args: { text: 'other' }, key }))).toBe('idempotency_mismatch');
  expect(await codeOf(ask(second, { name: 'echo', args: { text: key }, key }))).toBe('idempotency_mismatch');
  const elsewhere = { name: 'append', argumentsText: JSON.stringify({ text: key }), idempotencyKey: key };
  const prepared = first.keyed.prepare({ ...elsewhere, sessionId: 'other' }, requestContext());
  expect(await codeOf(prepared)).toBe('idempotency_mismatch');
  // For another principal it is a different key.
  const theirs = await ask(first, { name: 'echo', args: { text: 'x' }, key, context: { principal: 'other' } });
  expect(theirs.outcome.state).toBe('completed');
  expect(path.worker.probe.effects.filter((text) => text === key)).toHaveLength(1);
});

verifies('reliability.keyed-call-refused', 'a call that found no place begins with a later retry', async () => {
  const asked = { name: 'append', args: { text: randomUUID() }, key: randomUUID() };
  const crowded = await openGateway({ ...path.services, config: withQueueLength(0) });
  for (let retry = 0; retry < 3; retry += 1) expect(await codeOf(ask(crowded, asked))).toBe('queue_full');
  expect(path.worker.probe.effects).not.toContain(asked.args.text);
  expect((await ask(first, asked)).outcome.state).toBe('completed');
  expect((await ask(crowded, asked)).outcome.state).toBe('completed');
  expect(path.worker.probe.effects.filter((text) => text === asked.args.text)).toHaveLength(1);
  await crowded.close();
});

function withQueueLength(queue_length: number): Services['config'] {
  return { ...path.services.config, limits: { ...path.services.config.limits, queue_length } };
}
