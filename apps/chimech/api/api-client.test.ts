import { afterEach, expect } from 'vitest';
import {
  type ScriptedAnswer,
  type ScriptedUpstream,
  startScriptedUpstream,
} from '../../../test/support/scripted-upstream.js';
import { verifies } from '../../../test/verifies.js';
import { CallApiClient } from './api-client.js';
import { GatewayClient, type GatewaySettings } from './gateway.js';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function open(script: ScriptedAnswer[], settings: Partial<GatewaySettings> = {}) {
  const upstream: ScriptedUpstream = await startScriptedUpstream(script);
  const url = upstream.baseUrl.replace('/v1', '');
  const gateway = new GatewayClient({ url, key: undefined, model: undefined, embeddingsModel: 'embed-1', ...settings });
  closing.push(() => gateway.close().then(() => upstream.close()));
  const call = { signal: new AbortController().signal, language: 'en', requestId: 'req_1', token: undefined } as const;
  return { client: new CallApiClient(gateway, call), upstream };
}

const vectors = (...data: [index: number, embedding: number[]][]) => ({
  json: { data: data.map(([index, embedding]) => ({ index, embedding })), usage: { total_tokens: 6 } },
});

verifies('chimech.embeddings', 'in the order of the texts, whatever the order of the answer', async () => {
  const { client, upstream } = await open([vectors([1, [3, 4]], [0, [1, 2]])]);
  expect(await client.embeddings(['a', 'b'])).toEqual([
    [1, 2],
    [3, 4],
  ]);
  expect(upstream.requests[0]).toMatchObject({ path: '/v1/embeddings', body: { model: 'embed-1', input: ['a', 'b'] } });
  expect(client.tokensUsed).toBe(6);
});

verifies('chimech.embeddings', 'too few, none there, no model', async () => {
  const missing = { status: 404, json: { error: { message: 'There is nothing at this address', code: 'not_found' } } };
  const { client } = await open([vectors([0, [1]]), missing]);
  await expect(client.embeddings(['a', 'b'])).rejects.toMatchObject({ code: 'API_ERROR', statusCode: 502 });
  await expect(client.embeddings(['a'])).rejects.toThrow('The gateway answered 404: There is nothing');
  const without = await open([], { embeddingsModel: undefined });
  await expect(without.client.embeddings(['a'])).rejects.toThrow('CHIMECH_EMBEDDINGS_MODEL is not set');
});

verifies('chimech.gateway-errors', 'nobody at its address', async () => {
  const { client, upstream } = await open([]);
  await upstream.close();
  const asked = client.chat({ messages: [{ role: 'user', content: 'Why?' }] });
  await expect(asked).rejects.toMatchObject({
    code: 'API_ERROR',
    message: expect.stringMatching(/^The gateway at http:\/\/127\.0\.0\.1:\d+ cannot be reached/) as string,
  });
  expect(client.waitedMs).toBeGreaterThan(0);
});
