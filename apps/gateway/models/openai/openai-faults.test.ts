import { setImmediate as tick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { oneByOne } from '../../../../test/support/one-by-one.js';
import { foldEvents } from '../../../../test/support/collect-model-events.js';
import {
  ask,
  asking,
  attempts,
  calling,
  errorOf,
  provider,
  start,
  upstream,
  use,
} from '../../../../test/fixtures/openai-setup.js';
import { withinMs } from '../../../../test/support/within-ms.js';
import { verifies } from '../../../../test/verifies.js';

verifies('models.retries', 'Retry-After is honoured, the observer notified, then it succeeds', async () => {
  const { requests } = await start([
    { status: 429, headers: { 'retry-after-ms': '30' }, json: { error: { message: 'slow' } } },
    { status: 503, headers: { 'retry-after': '0' }, json: {} },
    { text: 'x' },
  ]);
  expect(foldEvents(await ask()).text).toBe('x');
  expect(requests).toHaveLength(3);
  expect(attempts.map(({ attempt, next, waitMs, error }) => [attempt, next, waitMs, error.upstreamStatus])).toEqual([
    [1, 'retry', 30, 429],
    [2, 'retry', 0, 503],
  ]);
});

verifies('models.retries', 'connections refused or cut before the first byte', async () => {
  await start([{ refuse: 'rst' }, { refuse: 'fin' }, { text: 'x' }]);
  expect(foldEvents(await ask()).text).toBe('x');
  expect(attempts).toHaveLength(2);
});

verifies('models.retries', 'within the budget, never past the deadline, never after the first byte', async () => {
  const { requests } = await start(
    [
      { status: 500, json: { error: { message: 'no' } } },
      { status: 500, json: { error: { message: 'no' } } },
      { status: 429, headers: { 'retry-after': '5' }, json: {} },
      { status: 429, headers: { 'retry-after': '9' }, json: {} },
      { chunks: [{ choices: [{ delta: { content: 'half' } }] }], end: 'rst' },
      { status: 400, json: { error: { message: 'bad', param: 'stop' } } },
    ],
    { max_retries: 1 },
  );
  expect(await errorOf(ask())).toMatchObject({ code: 'model_error', upstreamStatus: 500, http: 502 });
  expect(requests).toHaveLength(2);
  const limited = await errorOf(ask({}, { deadline: Date.now() + 2_000 }));
  expect(limited).toMatchObject({ code: 'rate_limit_exceeded', http: 429, retryAfterSeconds: 5 });
  // Longer than the gateway waits: the caller gets the error at once.
  expect(await errorOf(ask())).toMatchObject({ code: 'rate_limit_exceeded', http: 429, retryAfterSeconds: 9 });
  expect(['model_stream_cut', 'model_error']).toContain((await errorOf(ask())).code);
  expect(await errorOf(ask())).toMatchObject({ code: 'invalid_value', param: 'stop' });
  expect(requests.length).toBeLessThanOrEqual(7);
});

verifies('models.upstream-cut', 'by FIN and by RST, inside a call too', async () => {
  for (const end of ['fin', 'rst'] as const) {
    let sent = () => {};
    const arrived = new Promise<void>((resolve) => (sent = resolve));
    const chunk = {
      choices: [{ delta: { tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }] } }],
    };
    await start([{ chunks: [chunk, arrived], end }]);
    const events: ModelEvent[] = [];
    for await (const event of oneByOne((take) => provider.call(asking(), calling(), take))) {
      events.push(event);
      sent();
    }
    expect(foldEvents(events)).toMatchObject({ error: 'model_stream_cut', calls: [] });
    await provider.close();
    await upstream!.close();
  }
});

verifies('models.upstream-cut', 'a finish reason before the cut makes it whole', async () => {
  const chunk = { choices: [{ delta: { content: 'x' }, finish_reason: 'stop' }] };
  await start([{ chunks: [chunk], end: 'fin' }]);
  expect(foldEvents(await ask())).toMatchObject({ text: 'x', finish: 'stop' });
});

verifies(
  'models.open-end',
  'usage is waited for, and then the end is emitted, however long the connection stays',
  async () => {
    const finish = { choices: [{ delta: { content: 'x' }, finish_reason: 'stop' }] };
    const late = () => new Promise((resolve) => setTimeout(resolve, 200));
    const usage = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } };
    const comments = Array.from({ length: 40 }, () => [': keep-alive\n\n', late]).flat();
    await start([
      { chunks: [finish, late, usage], end: 'stall' },
      { chunks: [finish, ...comments], end: 'stall' },
    ]);
    for (const expected of [{ usage: { total_tokens: 3 } }, {}]) {
      const asked = performance.now();
      expect(foldEvents(await ask())).toMatchObject({ text: 'x', finish: 'stop', ...expected });
      const took = performance.now() - asked;
      expect(took).toBeGreaterThan(900);
      expect(took).toBeLessThan(3_000);
    }
    await Promise.all(upstream!.requests.map((request) => request.clientGone));
  },
);

verifies('models.open-end', 'a choice that has not begun is waited for', async () => {
  const choice = (index: number) => ({ choices: [{ index, delta: { content: 'x' }, finish_reason: 'stop' }] });
  const late = () => new Promise((resolve) => setTimeout(resolve, 1_300));
  await start([{ chunks: [choice(0), late, choice(1), 'data: [DONE]\n\n'] }]);
  const events = await ask({ parameters: { n: 2 } });
  expect(events.filter(({ type }) => type === 'message_end')).toHaveLength(2);
});

verifies('models.timeouts', 'no first byte, silence, the deadline', async () => {
  await start(
    [{ never: true }, { text: 'x', end: 'stall' }, { text: 'x', end: 'stall' }, { chunks: [], end: 'stall' }],
    {
      timeout_ms: { first_byte: 80, idle: 60 },
      max_retries: 0,
    },
  );
  expect(await errorOf(ask())).toMatchObject({
    code: 'model_timeout',
    message: expect.stringMatching(/first byte/),
    http: 504,
  });
  const silent = await ask();
  expect(foldEvents(silent)).toMatchObject({ text: 'x', error: 'model_timeout' });
  const late = await errorOf(ask({}, { deadline: Date.now() + 30 }));
  expect(late).toMatchObject({ code: 'model_timeout', message: expect.stringMatching(/deadline/) });
  // Headers do not count as the first byte.
  expect(await errorOf(ask())).toMatchObject({ code: 'model_timeout', message: expect.stringMatching(/first byte/) });
  await Promise.all(upstream!.requests.map((request) => request.clientGone));
});

verifies('models.timeouts', 'a slow reader is not a silent upstream', async () => {
  await start([{ text: ['a', 'b'], splitBytes: 40 }], { timeout_ms: { idle: 40 } });
  const events: ModelEvent[] = [];
  for await (const event of oneByOne((take) => provider.call(asking(), calling(), take))) {
    events.push(event);
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  expect(foldEvents(events)).toMatchObject({ text: 'ab', finish: 'stop' });
});

test('an upstream that cannot be reached is model_error with its address', async () => {
  use('http://127.0.0.1:9/v1', { max_retries: 0 });
  const error = await errorOf(ask());
  expect(error).toMatchObject({
    code: 'model_error',
    message: expect.stringMatching(/cannot be reached at http:\/\/127\.0\.0\.1:9: connection refused/),
  });
});

verifies('models.abort', 'leaving the iteration closes the upstream at once', async () => {
  await start([{ text: ['x'], end: 'stall' }]);
  for await (const event of oneByOne((take) => provider.call(asking(), calling(), take)))
    if (event.type === 'text_delta') break;
  const left = performance.now();
  await upstream!.requests[0]!.clientGone;
  expect(performance.now() - left).toBeLessThan(withinMs(50));
});

verifies('models.abort', 'the signal closes it before and after the first byte', async () => {
  for (const answer of [{ never: true }, { text: 'x', end: 'stall' as const }]) {
    await start([answer]);
    const leaving = new AbortController();
    const asked = ask({}, { signal: leaving.signal });
    const request = await upstream!.received(1);
    await tick();
    const left = performance.now();
    leaving.abort();
    await request.clientGone;
    expect(performance.now() - left).toBeLessThan(withinMs(50));
    expect((await errorOf(asked)).code).toBe('cancelled');
    await provider.close();
    await upstream!.close();
  }
});

verifies('models.abort', 'a signal that is aborted already sends nothing', async () => {
  await start([{ text: 'x' }]);
  expect((await errorOf(ask({}, { signal: AbortSignal.abort() }))).code).toBe('cancelled');
  expect(upstream!.requests).toHaveLength(0);
});

test('a retry that waits ends with the signal', async () => {
  await start([{ status: 503, headers: { 'retry-after': '10' }, json: {} }]);
  const leaving = new AbortController();
  const asked = ask({}, { signal: leaving.signal });
  await (
    await upstream!.received(1)
  ).finished;
  leaving.abort();
  expect((await errorOf(asked)).code).toBe('cancelled');
});

verifies('models.backpressure', 'a reader that stops holds the upstream', async () => {
  const frame = Buffer.from(`data: {"choices":[{"delta":{"content":"${'x'.repeat(60_000)}"}}]}\n\n`);
  let written = 0;
  const next = () => {
    written += 1;
    return Promise.resolve();
  };
  await start([{ chunks: Array.from({ length: 1_000 }, () => [frame, next]).flat() }]);
  const reading = oneByOne((take) => provider.call(asking(), calling(), take))[Symbol.asyncIterator]();
  await reading.next();
  await reading.next();
  let before = -1;
  while (before !== written) {
    before = written;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  // The kernel buffers some. Most of the 60 MB is still at the upstream.
  expect(written).toBeLessThan(300);
  await reading.return(undefined);
});

test('an answer larger than allowed is refused', async () => {
  await start([{ text: 'x'.repeat(5_000) }, { text: 'x'.repeat(5_000) }], { max_response_bytes: 2_000 });
  expect((await errorOf(ask())).code).toBe('model_bad_response');
  expect((await errorOf(ask({ stream: false }))).code).toBe('model_bad_response');
});

verifies(
  'models.concurrency',
  'one call more than max_concurrency is refused at once; ended calls make room',
  async () => {
    await start([{ text: 'x', end: 'stall' }, { text: 'y' }], { max_concurrency: 1 });
    const first = oneByOne((take) => provider.call(asking(), calling(), take))[Symbol.asyncIterator]();
    await first.next();
    expect(await errorOf(ask())).toMatchObject({ code: 'concurrency_exceeded', http: 429, retryAfterSeconds: 1 });
    await first.return(undefined);
    expect(foldEvents(await ask()).text).toBe('y');
  },
);

verifies(
  'models.retry-budget',
  'an upstream that fails every call of an overload is asked hardly more often',
  async () => {
    const failing = () => ({ status: 503, headers: { 'retry-after-ms': '1' }, json: { error: { message: 'down' } } });
    const { requests } = await start(failing, { max_retries: 5 });
    const calls = 200;
    const ends = await Promise.all(Array.from({ length: calls }, () => ask()));
    for (const events of ends) {
      expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'model_error', upstreamStatus: 503 } });
    }
    // The reserve refills slightly while they run.
    expect(requests.length).toBeGreaterThan(calls);
    expect(requests.length).toBeLessThan(calls * 1.2 + 30);
    expect(attempts).toHaveLength(requests.length - calls);
  },
);
