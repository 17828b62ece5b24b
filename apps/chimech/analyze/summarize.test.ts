// The summary of a model, as clients see it: from the gateway, in time, or extracted.
import { afterEach, expect, vi } from 'vitest';
import {
  type ChimechTestOptions,
  type ChimechTestServer,
  openChimechServer,
  textOf,
} from '../../../test/support/chimech-server.js';
import { verifies } from '../../../test/verifies.js';
import { CallApiClient } from '../api/api-client.js';
import { GatewayClient } from '../api/gateway.js';
import { silentLogger } from '#libs/logging/logger.js';
import { maxSummaryMs, summarize } from './summarize.js';

const opened: ChimechTestServer[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const server of opened.splice(0)) await server.close();
});

async function open(options: ChimechTestOptions): Promise<ChimechTestServer> {
  const server = await openChimechServer(options);
  opened.push(server);
  return server;
}

const answered = (content: string, model = 'clever') => ({
  json: {
    model,
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
    usage: { prompt_tokens: 40, completion_tokens: 10, total_tokens: 50 },
  },
});
const content = '河流把水带到大海。水是生命之源。';
const analysisOf = (result: object) => (result as { analysis: { summary: string; summary_by: string } }).analysis;

verifies('chimech.analyze.summary', 'by a model of the gateway, in the language of the content', async () => {
  const { call, gateway } = await open({ script: [answered('水从河流到大海。')] });
  const result = await call('chimech/analyze', { content, type: 'text' });
  expect(analysisOf(result)).toMatchObject({ summary: '水从河流到大海。', summary_by: 'model' });
  expect(result['metadata']).toMatchObject({ tokensUsed: 50 });
  expect(textOf(result)).toMatch(/^模型摘要：水从河流到大海。\n/);
  const [{ path, body }] = gateway.requests as [(typeof gateway.requests)[0]];
  expect(path).toBe('/v1/chat/completions');
  expect(body).toMatchObject({
    tools: [],
    messages: [
      { role: 'system', content: expect.stringContaining('用中文') as string },
      { role: 'user', content: `<content>\n${content}\n</content>` },
    ],
  });
});

verifies(
  'chimech.analyze.summary',
  'extracted where no model answers: refusals, no text, the offline model',
  async () => {
    const refusals = [
      { status: 401, json: { error: { message: 'no' } } },
      { status: 429, json: { error: { message: 'later' } } },
      answered(''),
      answered('I am the offline model.', 'offline'),
      { refuse: 'rst' as const },
    ];
    const { call, gateway } = await open({ script: refusals });
    for (const _refusal of refusals) {
      const result = await call('chimech/analyze', { content, type: 'text' });
      expect(result.isError).not.toBe(true);
      expect(analysisOf(result)).toMatchObject({ summary: content, summary_by: 'extract' });
    }
    expect(gateway.requests).toHaveLength(refusals.length);
  },
);

verifies('chimech.analyze.summary', 'extracted after 15 seconds without an answer; a cancelled call ends', async () => {
  const { gateway } = await open({ script: [{ never: true }, { never: true }] });
  const url = gateway.baseUrl.replace('/v1', '');
  const client = new GatewayClient({ url, key: undefined, model: undefined, embeddingsModel: undefined });
  const cancel = new AbortController();
  const { signal } = cancel;
  const call = {
    apiClient: new CallApiClient(client, { signal, language: 'en', requestId: 'req_1', token: undefined }),
    signal,
    logger: silentLogger,
  };
  const about = { type: 'text', answerLanguage: 'en' } as const;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const late = summarize(content, about, call);
  await gateway.received(1);
  vi.advanceTimersByTime(maxSummaryMs);
  expect(await late).toBeUndefined();
  vi.useRealTimers();
  const left = summarize(content, about, call);
  await gateway.received(2);
  cancel.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  await client.close();
});
