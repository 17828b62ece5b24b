// Programs that speak MCP badly, or not at all: each failure has its code, comes in time and harms nobody else.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { verifies } from '../../../../test/verifies.js';
import { fixture, hostile, openToolServers, type ToolServers } from '../../../../test/support/tool-servers.js';
import { countToolProcesses } from '../../sandbox/tool-process.js';

const maxReadBytes = 1024 * 1024;
let servers: ToolServers;

beforeAll(async () => {
  servers = await openToolServers(
    {
      bad: hostile(),
      other: hostile(),
      wide: hostile(),
      exits: hostile('--exit-after-initialize'),
      picky: hostile('--exit-on-discover'),
      endless: hostile('--endless-list'),
      voluminous: hostile('--large-pages'),
      circular: hostile('--same-cursor'),
      odd: hostile('--odd-list'),
      future: hostile('--version="9999-01-01"'),
      numbered: hostile('--version=7'),
      proto: hostile('--proto'),
      missing: { command: process.execPath, args: ['/nowhere.mjs'] },
    },
    { environment: { TOOLS_MAX_READ_BYTES: String(maxReadBytes), TOOLS_MAX_RESULT_BYTES: '1024' } },
  );
});
afterAll(() => servers.close());

const text = (said: string) => ({ content: [{ type: 'text', text: said }] });

/** The bystander's server answers before, while and after. */
async function unharmed(): Promise<void> {
  await expect(servers.call('other', 'echo', { args: { text: 'here' } })).resolves.toMatchObject(text('here'));
}

verifies('tools.hostile-servers', 'a crash in the middle of a call, half a frame, a closed output', async () => {
  for (const [tool, why] of [
    ['crash', /exit code 3/],
    ['halfFrame', /exit code 0/],
    ['closeOutput', /closed its output/],
  ] as const) {
    const failed = servers.call('bad', tool);
    await expect(failed, tool).rejects.toMatchObject({ code: 'tool_crashed', message: expect.stringMatching(why) });
    await expect(servers.call('bad', 'echo', { args: { text: tool } })).resolves.toMatchObject(text(tool));
  }
  await unharmed();
});

verifies('tools.hostile-servers', 'a line without end is cut off, in bounded memory', async () => {
  const before = process.memoryUsage();
  await expect(servers.call('bad', 'endlessLine')).rejects.toMatchObject({ code: 'result_too_large' });
  expect(servers.bounds).toContain('bad: message_bytes');
  const { arrayBuffers } = process.memoryUsage();
  expect(arrayBuffers - before.arrayBuffers).toBeLessThan(16 * maxReadBytes);
  await unharmed();
});

verifies('tools.hostile-servers', 'an answer of more values than are read is not even parsed', async () => {
  await expect(servers.call('wide', 'dense', { args: { unit: '0' } })).rejects.toMatchObject({
    code: 'result_too_large',
    message: expect.stringContaining('values'),
  });
  expect(servers.bounds).toContain('wide: message_values');
  await expect(servers.call('wide', 'dense', { args: { unit: '"some text, [with] {all}"' } })).resolves.toBeDefined();
  await unharmed();
});

verifies(
  'tools.hostile-servers',
  'a flood of what nobody asked for ends its server: many, large, or no MCP',
  async () => {
    for (const [tool, why, bound] of [
      ['flood', 'more messages', 'unasked_messages'],
      ['largeFlood', 'more messages', 'unasked_messages'],
      ['foreignFlood', 'more messages', 'unasked_messages'],
      ['noiseFlood', 'more output than', 'noise'],
    ] as const) {
      servers.bounds.length = 0;
      await expect(servers.call('bad', tool), tool).rejects.toMatchObject({
        code: 'tool_crashed',
        message: expect.stringContaining(why),
      });
      expect(servers.bounds).toEqual([`bad: ${bound}`]);
      await unharmed();
    }
  },
);

verifies('tools.hostile-servers', 'noise, batches, BOM and invalid UTF-8 cost nothing', async () => {
  await expect(servers.call('bad', 'noise')).resolves.toMatchObject(text('through the noise'));
  await expect(servers.call('bad', 'invalidUtf8')).resolves.toMatchObject(text('a\uFFFD\uFFFDb'));
  await expect(servers.call('bad', 'foreignAnswers')).resolves.toMatchObject(text('yours'));
  await expect(servers.call('bad', 'stderrFlood')).resolves.toMatchObject(text('said much'));
  const noise = servers.log.filter(({ message }) => message === 'stdout of a tool server that is no MCP');
  expect(noise.map(({ fields }) => fields.metadata?.['line'])).toContain('Listening on stdio');
  const errors = servers.log.filter(({ message }) => message === 'stderr of a tool server');
  expect(errors.length).toBeLessThan(300);
});

verifies('tools.hostile-servers', 'answers in no known shape', async () => {
  const answer = (how: string) => servers.call('bad', 'badAnswers', { args: { how } });
  for (const how of ['both', 'codeIsText', 'resultIsText']) {
    await expect(answer(how), how).rejects.toMatchObject({ code: 'invalid_tool_result' });
  }
  const failure = await answer('longMessage').catch((error: Error) => error);
  expect(failure).toMatchObject({ code: 'tool_failed' });
  expect((failure as Error).message.length).toBeLessThan(2_100);
  await expect(servers.call('bad', 'deep')).rejects.toMatchObject({ code: 'invalid_tool_result' });
  expect((await answer('unknownBlock')).content).toEqual([
    { type: 'hologram', data: 1 },
    { type: 'text', text: 'kept' },
  ]);
});

verifies('tools.hostile-servers', 'a byte now and then, and a request of its own', async () => {
  const late = servers.call('bad', 'trickle', { options: { signal: AbortSignal.timeout(300) } });
  await expect(late).rejects.toMatchObject({ name: 'TimeoutError' });
});

verifies('tools.questions-refused', 'what nobody can answer for a call is refused at once', async () => {
  for (const method of ['sampling/createMessage', 'elicitation/create', 'made/up']) {
    const asked = await servers.call('other', 'askBack', { args: { method } });
    expect(asked).toMatchObject(text('refused -32601'));
    expect(asked.structuredContent).toMatchObject({ capabilities: { elicitation: { form: {} }, roots: {} } });
    const { capabilities } = asked.structuredContent as { capabilities: object };
    expect(Object.keys(capabilities).sort()).toEqual(['elicitation', 'extensions', 'roots']);
  }
});

verifies('tools.questions-refused', 'the roots are the workspace of the session', async () => {
  const { structuredContent } = await servers.call('other', 'askBack', { args: { method: 'roots/list' } });
  expect(structuredContent).toMatchObject({ answer: { roots: [{ uri: 'file:///mcp_workspaces/sess_a' }] } });
});

verifies('tools.questions-refused', 'a server that asks a thousand is ended', async () => {
  for (const method of ['sampling/createMessage', 'elicitation/create']) {
    const ask = (times: number) => servers.call('bad', 'askBack', { args: { times, method }, session: 'sess_ask' });
    await expect(ask(100)).resolves.toMatchObject(text('refused -32601'));
    await expect(ask(1_000)).rejects.toMatchObject({
      code: 'tool_crashed',
      message: expect.stringContaining('sent more requests'),
    });
  }
  expect(servers.bounds).toContain('bad: questions');
  await expect(servers.call('bad', 'echo', { session: 'sess_ask' })).resolves.toMatchObject(text('nothing'));
});

verifies('tools.questions-refused', 'a server that does not read its answers is ended', async () => {
  const ask = (idLength: number) => servers.call('bad', 'askDeaf', { args: { idLength }, session: 'sess_deaf' });
  await expect(ask(1_000)).rejects.toMatchObject({
    code: 'tool_crashed',
    message: expect.stringContaining('does not read the answers'),
  });
  expect(servers.bounds).toContain('bad: unread_answers');
  // An answer repeats the id: one that is too long for that has none.
  await expect(ask(2_000)).resolves.toMatchObject(text('asked'));
});

verifies(
  'tools.progress-in-order',
  'what is sent just before the result is not lost, what comes after it is',
  async () => {
    const seen: number[] = [];
    const onProgress = ({ progress }: { progress: number }) => void seen.push(progress);
    await expect(servers.call('other', 'progress', { options: { onProgress } })).resolves.toMatchObject(text('done'));
    expect(seen).toEqual([1, 2, 1]);
  },
);

verifies('tools.cancel-keeps-server', 'silence is honour, deafness is the end', async () => {
  const cancelled = (tool: string) => {
    const controller = new AbortController();
    const call = servers.call('bad', tool, { session: 'sess_cancel', options: { signal: controller.signal } });
    setTimeout(() => controller.abort(new Error('enough')), 300);
    return call;
  };
  const pidOf = async () => (await servers.call('bad', 'where', { session: 'sess_cancel' })).structuredContent;
  const before = await pidOf();
  await expect(cancelled('deaf')).rejects.toThrow('enough');
  expect(await pidOf()).toEqual(before);
  await expect(cancelled('hang')).rejects.toThrow('enough');
  const reasons = () =>
    servers.log
      .filter(({ fields }) => fields.sessionId === 'sess_cancel')
      .map(({ fields }) => fields.metadata?.['reason']);
  await expect.poll(reasons, { timeout: 20_000 }).toContain('The tool server ignored a cancellation and was ended');
  await expect(servers.call('bad', 'echo', { session: 'sess_cancel' })).resolves.toMatchObject(text('nothing'));
});

verifies('tools.hostile-servers', 'a start that fails, and one that is refused by its own server', async () => {
  for (const name of ['exits', 'missing']) {
    await expect(
      servers.use(name, (connection) => connection.listTools(AbortSignal.timeout(10_000))),
      name,
    ).rejects.toThrow(/tool server/);
  }
  await expect(servers.call('picky', 'echo')).resolves.toMatchObject(text('nothing'));
});

verifies('tools.hostile-servers', 'a protocol or capabilities that there are not', async () => {
  await expect(servers.call('numbered', 'echo')).rejects.toMatchObject({ code: 'tool_unavailable' });
  // One that is not known yet: its server speaks an older one with an older client.
  await expect(servers.call('future', 'echo', { args: { text: 'x' } })).resolves.toMatchObject(text('x'));
  await expect(servers.call('proto', 'echo', { args: { text: 'x' } })).resolves.toMatchObject(text('x'));
  await unharmed();
});

verifies('tools.hostile-servers', 'an answer after its cancellation is dropped', async () => {
  const controller = new AbortController();
  const late = servers.call('other', 'late', { options: { signal: controller.signal } });
  setTimeout(() => controller.abort(new Error('enough')), 200);
  await expect(late).rejects.toThrow('enough');
  await unharmed();
});

test('a list without end is cut, a bad definition in it is passed on for the catalog to drop', async () => {
  const list = (name: string) => servers.use(name, (connection) => connection.listTools(AbortSignal.timeout(10_000)));
  expect(await list('endless')).toHaveLength(100);
  expect(servers.bounds).toContain('endless: listing');
  expect((await list('voluminous')).length).toBeLessThan(40);
  expect(servers.bounds).toContain('voluminous: listing');
  expect(await list('circular')).toHaveLength(2);
  expect(await list('bad')).toContainEqual({ name: 'schemaless', inputSchema: true });
  expect(await list('odd')).toEqual([expect.objectContaining({ name: 'echo' }), { name: 'deep' }]);
});

verifies('tools.servers-contained', 'its environment, directory and arguments', async () => {
  process.env['SECRET_OF_THE_WORKER'] = 'hidden';
  const opened = await openToolServers({
    place: { command: 'node', args: [fixture('hostile'), '${WORKSPACE}'], env: { OWN: 'x', WHERE: '${WORKSPACE}/y' } },
  });
  try {
    const { content, structuredContent } = await opened.call('place', 'where', { session: 'sess_p' });
    expect(content).toEqual([{ type: 'text', text: '/mcp_workspaces/sess_p' }]);
    const { environment, hasPath, args } = structuredContent as {
      environment: object;
      hasPath: boolean;
      args: string[];
    };
    expect(environment).toEqual({
      HOME: '/mcp_workspaces/sess_p',
      LANG: expect.any(String),
      TMPDIR: '/mcp_workspaces/sess_p/.tmp',
      OWN: 'x',
      WHERE: '/mcp_workspaces/sess_p/y',
    });
    expect(structuredContent).toMatchObject({ core: '0' });
    expect([hasPath, args[2]]).toEqual([true, '/mcp_workspaces/sess_p']);
    const echoed = await opened.call('place', 'echo', {
      session: 'sess_p',
      args: { text: `${opened.directory}/workspaces` },
    });
    expect(echoed).toMatchObject(text('/mcp_workspaces'));
  } finally {
    delete process.env['SECRET_OF_THE_WORKER'];
    await opened.close();
  }
});

verifies('tools.nothing-left-alive', 'deaf to SIGTERM, with grandchildren of their own sessions', async () => {
  const opened = await openToolServers({ stubborn: hostile('--ignore-term') });
  const { content } = await opened.call('stubborn', 'family');
  expect(content).toEqual([{ type: 'text', text: expect.stringMatching(/^\d+ \d+$/) }]);
  expect(await countToolProcesses()).toBeGreaterThanOrEqual(3);
  // One that ends by itself leaves its family as well.
  await opened.call('stubborn', 'family', { session: 'sess_b' });
  await expect(opened.call('stubborn', 'crash', { session: 'sess_b' })).rejects.toMatchObject({ code: 'tool_crashed' });
  const gone = servers.close();
  await Promise.all([opened.close(), gone]);
  expect(await countToolProcesses()).toBe(0);
});
