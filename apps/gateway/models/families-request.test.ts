import { expect, test } from 'vitest';
import type { ChatMessage } from '#libs/schemas/message.js';
import { call, type Kind, writeRequest, written } from '../../../test/fixtures/read-family.js';
import { verifies } from '../../../test/verifies.js';
import type { ModelRequest } from './model-provider.js';

const getTime = {
  name: 'getTime',
  description: 'd',
  parameters: { type: 'object', properties: { offset_ms: { type: 'number' } } },
};
const png = 'data:image/png;base64,AAAA';

/** Two parallel calls. Their results, one with an image, are out of order and after the next user message. */
const history: ChatMessage[] = [
  { role: 'system', content: 'S' },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'u' },
      { type: 'image_url', image_url: { url: png } },
    ],
  },
  { role: 'assistant', content: '', tool_calls: [call('c 1', '9/lives', '{"x":1}'), call('c2', 'getTime')] },
  { role: 'user', content: 'more' },
  { role: 'tool', tool_call_id: 'c2', content: 'late', is_error: true },
  {
    role: 'tool',
    tool_call_id: 'c 1',
    content: 'early',
    blocks: [
      { type: 'text', text: 'early' },
      { type: 'image', data: 'BBBB', mimeType: 'image/png' },
    ],
  },
  { role: 'developer', content: 'D' },
];

verifies('models.families.request', 'Anthropic: system apart, results first and in order, pictures, names', () => {
  const request = written('anthropic', { messages: history, tools: [getTime], model: 'claude-opus-4-5' });
  const source = (data: string) => ({ type: 'image', source: { type: 'base64', media_type: 'image/png', data } });
  const id = expect.stringMatching(/^call_[0-9a-f]{32}$/);
  expect(request).toEqual({
    model: 'claude-opus-4-5',
    max_tokens: 64_000,
    stream: true,
    system: 'S\n\nD',
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'u' }, source('AAAA')] },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id, name: '9_lives', input: { x: 1 } },
          { type: 'tool_use', id: 'c2', name: 'getTime', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: id, content: [{ type: 'text', text: 'early' }, source('BBBB')] },
          { type: 'tool_result', tool_use_id: 'c2', content: 'late', is_error: true },
          { type: 'text', text: 'more' },
        ],
      },
    ],
    tools: [{ name: 'getTime', description: 'd', input_schema: getTime.parameters }],
  });
});

verifies('models.families.request', 'Gemini: system apart, responses first and in order, pictures, names', () => {
  const request = written('gemini', { messages: history, tools: [getTime], model: 'gemini-2.5-flash' });
  const name = expect.stringMatching(/^t_lives_[0-9a-f]{8}$/);
  expect(request).toEqual({
    systemInstruction: { parts: [{ text: 'S\n\nD' }] },
    contents: [
      { role: 'user', parts: [{ text: 'u' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
      {
        role: 'model',
        parts: [{ functionCall: { name, args: { x: 1 } } }, { functionCall: { name: 'getTime', args: {} } }],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { name, response: { output: 'early' } } },
          { functionResponse: { name: 'getTime', response: { error: 'late' } } },
          { inlineData: { mimeType: 'image/png', data: 'BBBB' } },
          { text: 'more' },
        ],
      },
    ],
    tools: [
      { functionDeclarations: [{ name: 'getTime', description: 'd', parametersJsonSchema: getTime.parameters }] },
    ],
  });
});

const choices: [ModelRequest['toolChoice'], object, object][] = [
  ['auto', { type: 'auto', disable_parallel_tool_use: true }, { mode: 'AUTO' }],
  ['required', { type: 'any', disable_parallel_tool_use: true }, { mode: 'ANY' }],
  ['none', { type: 'none' }, { mode: 'NONE' }],
  [
    { name: 'getTime' },
    { type: 'tool', name: 'getTime', disable_parallel_tool_use: true },
    { mode: 'ANY', allowedFunctionNames: ['getTime'] },
  ],
];

for (const [toolChoice, anthropic, gemini] of choices) {
  verifies('models.families.request', `tool_choice ${JSON.stringify(toolChoice)}`, () => {
    const request = { toolChoice: toolChoice!, parallelToolCalls: false, tools: [getTime] };
    expect(written('anthropic', request)['tool_choice']).toEqual(anthropic);
    expect(written('gemini', request)['toolConfig']).toEqual({ functionCallingConfig: gemini });
  });
}

verifies('models.families.request', 'parameters: what has an equivalent is sent, nothing is invented', () => {
  const parameters = {
    temperature: 1.5,
    max_completion_tokens: 9_000,
    stop: ['END', ''],
    seed: 7,
    user: 'u',
    reasoning_effort: 'low',
    logit_bias: {},
  };
  const { messages: _, ...anthropic } = written('anthropic', { model: 'claude-sonnet-4-5', parameters });
  expect(anthropic).toEqual({
    model: 'claude-sonnet-4-5',
    max_tokens: 9_000,
    stream: true,
    stop_sequences: ['END'],
    thinking: { type: 'enabled', budget_tokens: 2_048 },
    metadata: { user_id: 'u' },
  });
  expect(written('anthropic', { model: 'claude-opus-4-6', parameters })).toMatchObject({
    thinking: { type: 'adaptive' },
    output_config: { effort: 'low' },
  });
  expect(written('anthropic', { parameters: { temperature: 1.5 } })['temperature']).toBe(1);
  expect(written('gemini', { model: 'gemini-2.5-pro', parameters })['generationConfig']).toEqual({
    temperature: 1.5,
    maxOutputTokens: 9_000,
    stopSequences: ['END'],
    seed: 7,
    thinkingConfig: { thinkingBudget: 1_024, includeThoughts: true },
  });
  expect(written('gemini', {})).toEqual({ contents: [{ role: 'user', parts: [{ text: 'x' }] }] });
});

verifies('models.families.request', 'response_format', () => {
  const schema = { type: 'object', properties: { n: { type: 'integer', minimum: 1 } }, required: ['n'] };
  const parameters = { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } };
  const closed = { ...schema, properties: { n: { type: 'integer' } }, additionalProperties: false };
  expect(written('anthropic', { model: 'claude-opus-5', parameters })['output_config']).toEqual({
    format: { type: 'json_schema', schema: closed },
  });
  expect(() => written('anthropic', { model: 'claude-3-5-haiku-latest', parameters })).toThrow(/response_format/);
  expect(written('gemini', { parameters })['generationConfig']).toEqual({
    responseMimeType: 'application/json',
    responseJsonSchema: schema,
  });
  const any = { response_format: { type: 'json_object' } };
  expect(written('anthropic', { parameters: any })['system']).toMatch(/JSON object/);
  expect(written('gemini', { parameters: any })['generationConfig']).toEqual({ responseMimeType: 'application/json' });
});

verifies('models.families.request', 'a history with calls and no tools declares them for Anthropic', () => {
  const { tools, tool_choice } = written('anthropic', { messages: history });
  expect(tools).toEqual(['9_lives', 'getTime'].map((name) => ({ name, input_schema: { type: 'object' } })));
  expect(tool_choice).toEqual({ type: 'none' });
  expect(written('gemini', { messages: history })).not.toHaveProperty('tools');
});

verifies('models.families.request', 'the cache is asked for when it is configured', () => {
  const cache_control = { type: 'ephemeral' };
  const request = { messages: history, tools: [{ name: 'a' }, getTime] };
  const cached = written('anthropic', request, { prompt_caching: true });
  expect(cached['system']).toEqual([{ type: 'text', text: 'S\n\nD', cache_control }]);
  expect(cached['tools']).toMatchObject([{ name: 'a' }, { name: 'getTime', cache_control }]);
  expect(JSON.stringify(written('anthropic', request))).not.toContain('cache_control');
});

const file = (file_data: string) => ({ type: 'file', file: { file_data, filename: 'f' } });
const parts: [string, { type: string } & Record<string, never>, object, object][] = [
  [
    'a picture by address',
    { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
    { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } },
    { fileData: { fileUri: 'https://x.test/a.png', mimeType: 'image/png' } },
  ],
  [
    'a document',
    file('data:application/pdf;base64,AAAA'),
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' }, title: 'f' },
    { inlineData: { mimeType: 'application/pdf', data: 'AAAA' } },
  ],
  [
    'a text file',
    file('data:text/csv,a%2Cb'),
    { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a,b' }, title: 'f' },
    { text: 'f:\na,b' },
  ],
  [
    'sound',
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    { type: 'text', text: '[audio/wav, 3 bytes]' },
    { inlineData: { mimeType: 'audio/wav', data: 'AAAA' } },
  ],
  ['a later part', { type: 'later', later: {} }, { type: 'text', text: '[later]' }, { text: '[later]' }],
] as never;

for (const [name, part, anthropic, gemini] of parts) {
  verifies('models.families.request', `content: ${name}`, () => {
    const request = { messages: [{ role: 'user' as const, content: [part] }] };
    for (const [kind, expected, member] of [
      ['anthropic', anthropic, 'content'],
      ['gemini', gemini, 'parts'],
    ] as const) {
      const messages = written(kind, request)[kind === 'gemini' ? 'contents' : 'messages'];
      expect((messages as Record<string, unknown>[])[0]![member]).toEqual([expected]);
    }
  });
}

test('paths: with and without the version in the address, streamed and whole, no name leaves its place', () => {
  const path = (kind: Kind, base_url: string, stream: boolean, model = 'm') =>
    writeRequest(kind, { stream, model }, { base_url }).path;
  expect(path('anthropic', 'https://x.test', true)).toBe('/v1/messages');
  expect(path('anthropic', 'https://x.test/v1/', true)).toBe('/messages');
  expect(path('gemini', 'https://x.test', true)).toBe('/v1beta/models/m:streamGenerateContent?alt=sse');
  expect(path('gemini', 'https://x.test/v1', false)).toBe('/models/m:generateContent');
  expect(path('gemini', 'https://x.test', false, 'tunedModels/a?b:c')).toBe(
    '/v1beta/tunedModels/a%3Fb%3Ac:generateContent',
  );
});
