import { expect, test } from 'vitest';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { jobIdOf, workerQueueName } from './job-id.js';
import { readPayload, toJobPayload } from './job-payload.js';

const job: ToolJob = {
  version: 1,
  callId: 'call_1',
  replyTo: 'g',
  principal: 'p',
  requestId: 'r',
  sessionId: 's',
  server: 'x',
  tool: 't',
  name: 't',
  definitionHash: 'h',
  arguments: { z: 1, a: 'NUL \u0000 half \ud800' },
  safe: true,
  priority: 'batch',
  timeoutMs: 1,
  maxTimeoutMs: 1,
  deadline: 1,
  queuedAt: 1,
};

test('a job comes back as it went, through text that jsonb takes', () => {
  const payload = toJobPayload(job);
  expect(payload.job).not.toContain('\u0000');
  expect(readPayload(JSON.parse(JSON.stringify(payload)))).toEqual({ kind: 'jobs', jobs: [job], again: false });
});

test('several come back together, or not at all', () => {
  const other = { ...job, callId: 'call_2' };
  const texts = [job, other].map((each) => JSON.stringify(each));
  expect(readPayload({ job: texts[0], more: [texts[1]], again: true })).toEqual({
    kind: 'jobs',
    jobs: [job, other],
    again: true,
  });
  expect(readPayload({ job: texts[0], more: ['{'] }).kind).toBe('invalid');
  expect(readPayload({ job: texts[0], more: 'x' }).kind).toBe('invalid');
  expect(readPayload({ job: texts[0], more: [JSON.stringify({ ...job, version: 4 })] }).kind).toBe('unknown version');
});

test('a later version is distinguished from a wrong job', () => {
  const read = (value: unknown) => readPayload({ job: JSON.stringify(value) }).kind;
  expect(read({ ...job, version: 4, priority: 'new' })).toBe('unknown version');
  expect(read({ ...job, priority: 'new' })).toBe('invalid');
  expect(read({})).toBe('invalid');
  expect(read(null)).toBe('invalid');
  expect(readPayload({ job: '{' }).kind).toBe('invalid');
  expect(readPayload(undefined).kind).toBe('invalid');
});

test('ids stay different and are none that BullMQ refuses', () => {
  const ids = ['1', '%1', 'a:b', 'a%3Ab', '-1', 'call_1'].map(jobIdOf);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).not.toMatch(/:|^-?\d+$/);
  expect(workerQueueName('host:1')).not.toContain(':');
});

test('one without its arguments is whole as version 2, which a worker that knows 1 puts back', () => {
  const { arguments: carried, ...members } = job;
  const bare: ToolJob = { ...members, version: 2 };
  expect(readPayload(toJobPayload(bare))).toEqual({ kind: 'jobs', jobs: [bare], again: false });
  const read = (value: unknown) => readPayload({ job: JSON.stringify(value) }).kind;
  expect(read({ ...members, version: 1 })).toBe('invalid');
  expect(read({ ...bare, arguments: carried })).toBe('invalid');
});
