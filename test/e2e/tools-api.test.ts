import { afterAll, beforeAll, expect } from 'vitest';
import { ToolsController } from '../../apps/gateway/http/controllers/tools.controller.js';
import { KeyedToolCalls } from '../../apps/gateway/turn/dispatch/keyed-tool-calls.js';
import { ToolPolicy } from '../../apps/gateway/govern/tool-policy.js';
import { type OpenHttpServer, openHttpServer } from '../support/open-http-server.js';
import { UsageStore } from '#libs/usage/usage-store.js';
import { queuePathOfFile } from '../support/queue-path.js';
import { withinMs } from '../support/within-ms.js';
import { verifies } from '../verifies.js';

const path = queuePathOfFile();
let server: OpenHttpServer;
let url: string;

beforeAll(async () => {
  server = await openHttpServer(
    path.services,
    [ToolsController],
    [
      { provide: ToolPolicy, useValue: path.gateway.policy },
      { provide: KeyedToolCalls, useValue: path.gateway.keyed },
      { provide: UsageStore, useValue: new UsageStore(path.services.database) },
    ],
  );
  url = server.url;
});
afterAll(() => server?.close());

const post = (body: unknown, init: RequestInit = {}): Promise<Response> =>
  fetch(`${url}/api/tools/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...init,
  });

verifies('tools.api-lists', 'OpenAI function form, ETag, one by name', async () => {
  const answer = await fetch(`${url}/api/tools`);
  const { data } = (await answer.json()) as { data: { function: { name: string } }[] };
  expect(data.find((tool) => tool.function.name === 'echo')).toMatchObject({
    type: 'function',
    function: { name: 'echo', description: 'Says it again.', parameters: { type: 'object', required: ['text'] } },
    server: 'workspace',
    annotations: { readOnlyHint: true },
    requires_approval: false,
  });
  const etag = answer.headers.get('etag')!;
  expect((await fetch(`${url}/api/tools`, { headers: { 'if-none-match': etag } })).status).toBe(304);
  expect((await fetch(`${url}/api/tools`, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
  expect(await (await fetch(`${url}/api/tools/echo`)).json()).toMatchObject({ function: { name: 'echo' } });
  const missing = await fetch(`${url}/api/tools/chimech/query`);
  expect([missing.status, await missing.json()]).toMatchObject([404, { error: { code: 'tool_not_found' } }]);
});

verifies('tools.cost', 'of each tool, in the list and alone, by any include', async () => {
  interface Costly {
    function: { name: string; description: string; parameters: object };
    tokens: number;
  }
  for (const query of ['', '?include=usage,verdict']) {
    const { data } = (await (await fetch(`${url}/api/tools${query}`)).json()) as { data: Costly[] };
    for (const tool of data) expect(tool.tokens).toBe(Math.ceil(JSON.stringify(tool.function).length / 4));
  }
  const one = (await (await fetch(`${url}/api/tools/echo`)).json()) as Costly;
  expect(one.tokens).toBe(Math.ceil(JSON.stringify(one.function).length / 4));
});

verifies('tools.api-calls', 'success, failure, bad arguments, unknown tool, timeout', async () => {
  const good = await post({ name: 'echo', arguments: { text: 'hi' }, session_id: 'sess_api' });
  expect([good.status, await good.json()]).toMatchObject([
    200,
    { success: true, content: 'sess_api: hi', session_id: 'sess_api', cached: false },
  ]);
  const cases: [unknown, number, object][] = [
    [
      { name: 'fail', arguments: {} },
      422,
      {
        message: 'Tool execution failed: The tool failed',
        type: 'tool_execution_error',
        code: 'tool_failed',
        tool_name: 'fail',
      },
    ],
    [{ name: 'echo', arguments: {} }, 422, { code: 'invalid_tool_arguments', type: 'tool_execution_error' }],
    [{ arguments: {} }, 400, { param: 'name', message: 'name: must be a string of 1 to 512 characters' }],
    [{ name: 'echo', arguments: 'text' }, 422, { code: 'invalid_tool_arguments' }],
    [{ name: 'echo', arguments: [1] }, 422, { code: 'invalid_tool_arguments' }],
    [
      { name: 'unknown_tool', arguments: {} },
      404,
      { message: "Tool 'unknown_tool' not found", type: 'invalid_request_error', code: 'tool_not_found' },
    ],
    [{ name: 'slow', arguments: { ms: 5_000 }, timeout_ms: 200 }, 504, { code: 'tool_timeout', type: 'timeout_error' }],
    [{ name: 'echo', arguments: { text: 'x' }, session_id: '../sess_y' }, 400, { param: 'session_id' }],
    [{ name: 'echo', arguments: { text: 'x' }, timeout_ms: '5' }, 400, { param: 'timeout_ms' }],
    [{ arguments: {} }, 400, { code: 'invalid_value', param: 'name' }],
    [[], 400, { code: 'invalid_value' }],
  ];
  for (const [body, status, error] of cases) {
    const answer = await post(body);
    const shown = (await answer.json()) as { error: object };
    expect([answer.status, shown.error]).toMatchObject([status, error]);
  }
});

verifies('tools.api-calls', 'a call with an Idempotency-Key names its run', async () => {
  const headers = { 'content-type': 'application/json', 'idempotency-key': 'names-its-run' };
  const body = { name: 'echo', arguments: { text: 'hi' } };
  const [first, again] = [await post(body, { headers }), await post(body, { headers })];
  expect(first.headers.get('x-run-id')).toMatch(/^run_/);
  expect([again.status, again.headers.get('x-run-id')]).toEqual([200, first.headers.get('x-run-id')]);
  expect((await post(body)).headers.get('x-run-id')).toBeNull();
});

verifies('tools.api-streams', 'progress, then one result', async () => {
  const answer = await post(
    { name: 'slow', arguments: { ms: 200, progress: true } },
    { headers: { 'content-type': 'application/json', accept: 'text/event-stream' } },
  );
  expect(answer.headers.get('content-type')).toBe('text/event-stream');
  const lines = (await answer.text()).split('\n').filter((line) => line.startsWith('data: '));
  expect(lines.at(-1)).toBe('data: [DONE]');
  const events = lines.slice(0, -1).map((line) => JSON.parse(line.slice(6)) as { type: string; choices: unknown[] });
  expect(events[0]).toMatchObject({ type: 'tool_progress', status: 'queued' });
  expect(events.filter(({ type }) => type === 'tool_progress').length).toBeGreaterThan(2);
  expect(events.at(-1)).toMatchObject({ type: 'tool_result', result: { success: true, content: 'done' } });
  expect(events.every(({ choices }) => choices.length === 1)).toBe(true);
});

verifies('tools.cancel-reaches-tool', 'the client of the tools API goes away', async () => {
  const gone = new AbortController();
  path.worker.probe.aborted.length = 0;
  const asked = post({ name: 'slow', arguments: { ms: 20_000 } }, { signal: gone.signal }).catch(() => 'gone');
  await expect.poll(() => path.worker.probe.running).toBe(1);
  const goneAt = Date.now();
  gone.abort();
  expect(await asked).toBe('gone');
  await expect.poll(() => path.worker.probe.aborted.length, { timeout: 2_000, interval: 20 }).toBe(1);
  expect(path.worker.probe.aborted[0]! - goneAt).toBeLessThan(withinMs(1_000));
});
