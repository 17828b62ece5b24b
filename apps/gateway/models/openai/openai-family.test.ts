import { expect, test } from 'vitest';
import { foldEvents } from '../../../../test/support/collect-model-events.js';
import { ask, provider, start, upstream, use, errorOf } from '../../../../test/fixtures/openai-setup.js';
import { verifies } from '../../../../test/verifies.js';

verifies(
  'models.openai.request',
  'what is sent: parameters, unknown fields, tools, usage always asked for',
  async () => {
    const { requests } = await start([{ text: 'x' }, { text: 'y' }]);
    const parameters = { temperature: 0, stream_options: { include_usage: false } };
    const tools = [{ name: 'files/read', description: 'd', parameters: { type: 'object' } }];
    const toolChoice = { name: 'files/read' };
    await ask({ parameters, unknown: { top_k: 3, model: 'evil' }, tools, toolChoice, parallelToolCalls: false });
    expect(requests[0]!.path).toBe('/v1/chat/completions');
    expect(requests[0]!.headers.authorization).toBe('Bearer sk-canary-123456');
    expect(requests[0]!.body).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0,
      top_k: 3,
      tools: [{ type: 'function', function: { name: 'files_read', description: 'd', parameters: { type: 'object' } } }],
      tool_choice: { type: 'function', function: { name: 'files_read' } },
      parallel_tool_calls: false,
    });
    await ask({ stream: false, toolChoice: 'auto', parallelToolCalls: true, parameters });
    expect(requests[1]!.body).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
      stream: false,
      temperature: 0,
    });
  },
);

const sent = async (settings: Parameters<typeof start>[1], request: Parameters<typeof ask>[0]) => {
  const { requests } = await start([{ text: 'x' }], settings);
  await ask(request);
  await provider.close();
  await upstream!.close();
  return requests[0]!.body;
};

verifies('models.openai.known-servers', 'the limit of an answer by the name that the server knows', async () => {
  const parameters = { max_completion_tokens: 9 };
  const limits = ({ max_tokens, max_completion_tokens }: Record<string, unknown>) => [
    max_tokens,
    max_completion_tokens,
  ];
  expect(limits(await sent({}, { parameters }))).toEqual([9, undefined]);
  expect(limits(await sent({}, { parameters: { max_tokens: 7 } }))).toEqual([7, undefined]);
  expect(limits(await sent({}, { parameters: { max_tokens: 7, ...parameters } }))).toEqual([9, undefined]);
  expect(limits(await sent({}, { parameters: { max_tokens: 7 }, model: 'gpt-5.2' }))).toEqual([undefined, 7]);
});

verifies('models.openai.known-servers', 'Mistral is sent no field that it refuses', async () => {
  const parameters = {
    max_completion_tokens: 9,
    seed: 1,
    user: 'u',
    logprobs: true,
    logit_bias: {},
    stream_options: { include_usage: true },
    temperature: 0,
  };
  const messages = [{ role: 'user' as const, content: 'hi', name: 'n' }];
  const unknown = { store: false, safe_prompt: true };
  const body = await sent({ call_ids: 'alphanumeric9' }, { parameters, messages, unknown });
  expect(body).toEqual({
    model: 'm',
    stream: true,
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 9,
    random_seed: 1,
    temperature: 0,
    safe_prompt: true,
  });
  // Another server of its models takes them, and reports no usage unless asked.
  expect(await sent({}, { parameters, model: 'mistral-small' })).toMatchObject({
    seed: 1,
    user: 'u',
    stream_options: { include_usage: true },
  });
});

verifies('models.tool-names', 'the caller sees the name it knows, in calls and history', async () => {
  const { requests } = await start([{ toolCalls: [{ name: 'files_read', arguments: { path: 'a' } }] }]);
  const history = [
    { role: 'user' as const, content: 'hi' },
    {
      role: 'assistant' as const,
      content: null,
      tool_calls: [{ id: 'c1', type: 'function' as const, function: { name: 'files/read', arguments: '{}' } }],
    },
    { role: 'tool' as const, tool_call_id: 'c1', content: 'x', is_error: true },
  ];
  const events = await ask({ tools: [{ name: 'files/read' }], messages: history });
  expect(foldEvents(events).calls).toEqual([{ id: 'call_0', name: 'files/read', arguments: '{"path":"a"}' }]);
  expect(requests[0]!.body['messages']).toEqual([
    history[0],
    { ...history[1], tool_calls: [{ id: 'c1', type: 'function', function: { name: 'files_read', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: 'c1', content: 'x' },
  ]);
});

test('129 tools are too many', async () => {
  await start([{ text: 'x' }]);
  const tools = Array.from({ length: 129 }, (_, n) => ({ name: `f${n}` }));
  expect(await errorOf(ask({ tools }))).toMatchObject({
    code: 'too_many_tools',
    message: expect.stringMatching(/129.*128/),
  });
});

test('connections are used again', async () => {
  await start(() => ({ text: ['a', 'b'] }));
  for (let n = 0; n < 5; n += 1) await ask({ stream: n % 2 === 0 });
  // A second connection opens while the first is still drained.
  expect(upstream!.connections()).toBeLessThanOrEqual(2);
});

test('lists models, distinguishes no list from a failure', async () => {
  const signal = new AbortController().signal;
  use('http://127.0.0.1:9/v1');
  await expect(provider.listModels(signal)).rejects.toThrow('cannot be reached');
  await provider.close();
  await start([], {}, { models: ['a', 'b'] });
  expect(await provider.listModels(signal)).toEqual(['a', 'b']);
  await upstream!.close();
  await provider.close();
  await start([]);
  expect(await provider.listModels(signal)).toEqual([]);
});

test('a base address keeps its path and query, headers of the configuration win', async () => {
  const { baseUrl, requests } = await start([{ text: 'x' }]);
  await provider.close();
  use(`${baseUrl}/deployments/d/?api-version=1`, { headers: { Authorization: 'none', 'api-key': 'k' } });
  await ask({}, { traceparent: '00-1-2-01' });
  expect(requests[0]!.path).toBe('/v1/deployments/d/chat/completions?api-version=1');
  expect(requests[0]!.headers).toMatchObject({
    authorization: 'none',
    'api-key': 'k',
    traceparent: '00-1-2-01',
  });
});
