import { afterEach, expect } from 'vitest';
import { configSchema } from '#libs/config/schema.js';
import { silentLogger } from '#libs/logging/logger.js';
import type { Json } from '#libs/schemas/json.js';
import { type Script, type ScriptedUpstream, startScriptedUpstream } from '../../../test/support/scripted-upstream.js';
import { verifies } from '../../../test/verifies.js';
import type { ModelProvider, ModelRequest, ModelRouter } from './model-provider.js';
import { createModelRouter } from './routing/model-router.js';
import { OfflineProvider } from './offline/offline-provider.js';

let upstream: ScriptedUpstream | undefined;
let router: ModelRouter | undefined;

afterEach(async () => {
  await router?.close();
  await upstream?.close();
});

const parameters = { type: 'object', properties: { key: { type: 'string' } } };
const request: Omit<ModelRequest, 'model'> = {
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'hi' },
  ],
  tools: [{ name: 'look/up', parameters }],
  toolChoice: 'auto',
  stream: true,
  parameters: { temperature: 0.5, max_tokens: 9, stop: ['x'], user: 'u' },
  unknown: {},
};

async function count(model: string, script: Script, settings: object = {}): Promise<number> {
  upstream = await startScriptedUpstream(script);
  const origin = upstream.baseUrl.replace('/v1', '');
  const provider = (kind: string, name: string) => ({
    kind,
    base_url: origin,
    api_key: 'canary-123456',
    models: [name],
    ...settings,
  });
  const { models } = configSchema.parse({
    models: {
      providers: {
        open: provider('openai', 'm'),
        claude: provider('anthropic', 'claude-x'),
        google: provider('gemini', 'gemini-3-pro'),
      },
      aliases: { best: ['claude/claude-x', 'open/m'], worst: ['open/m', 'claude/claude-x'] },
    },
  });
  const offline: ModelProvider = new OfflineProvider();
  router = createModelRouter(models, { logger: silentLogger, offline });
  const call = { requestId: 'r', deadline: Date.now() + 20_000, signal: new AbortController().signal };
  return router.countTokens(router.resolve(model), request, call);
}

verifies('models.count-tokens', 'Anthropic counts what would be sent, and is sent nothing else', async () => {
  for (const model of ['claude/claude-x', 'best']) {
    expect(await count(model, [{ json: { input_tokens: 42 } }])).toBe(42);
    const [{ path, body, headers }] = upstream!.requests as [ScriptedUpstream['requests'][number]];
    expect([path, headers['x-api-key']]).toEqual(['/v1/messages/count_tokens', 'canary-123456']);
    expect(body).toEqual({
      model: 'claude-x',
      system: 'Be brief.',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      tools: [{ name: 'look_up', input_schema: parameters }],
      tool_choice: { type: 'auto' },
    });
    await router!.close();
    await upstream!.close();
  }
});

verifies('models.count-tokens', 'Gemini counts the whole request', async () => {
  expect(await count('google/gemini-3-pro', [{ json: { totalTokens: 7 } }])).toBe(7);
  const { path, body } = upstream!.requests[0]!;
  expect(path).toBe('/v1beta/models/gemini-3-pro:countTokens');
  expect(body).toMatchObject({
    generateContentRequest: {
      model: 'models/gemini-3-pro',
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      tools: [{ functionDeclarations: [{ name: 'look_up' }] }],
    },
  });
});

verifies('models.count-tokens', 'of a model that counts none nothing is made up', async () => {
  for (const model of ['open/m', 'worst']) {
    await expect(count(model, [])).rejects.toMatchObject({ code: 'invalid_value', param: 'model' });
    expect(upstream!.requests).toHaveLength(0);
    await router!.close();
    await upstream!.close();
  }
  await expect(count('claude/claude-x', [], { tools: 'prompted' })).rejects.toMatchObject({ code: 'model_error' });
  // The rules of prompted tools are text and are counted.
  expect(JSON.stringify(upstream!.requests[0]!.body['system'])).toContain('look/up');
  expect(upstream!.requests[0]!.body).not.toHaveProperty('tools');
});

verifies('models.count-tokens', 'an upstream that fails, or says something else', async () => {
  const slow = { status: 429, headers: { 'retry-after-ms': '1' }, json: {} };
  expect(await count('claude/claude-x', [slow, { json: { input_tokens: 3 } }])).toBe(3);
  await router!.close();
  await upstream!.close();
  for (const json of [{}, { input_tokens: '3' }, { input_tokens: -1 }, [3]] as Json[]) {
    await expect(count('claude/claude-x', [{ json }])).rejects.toMatchObject({ code: 'model_bad_response' });
    await router!.close();
    await upstream!.close();
  }
  const refused = { status: 400, json: { type: 'error', error: { type: 'invalid_request_error', message: 'no' } } };
  await expect(count('claude/claude-x', [refused])).rejects.toMatchObject({
    code: 'invalid_value',
    upstreamStatus: 400,
  });
});
