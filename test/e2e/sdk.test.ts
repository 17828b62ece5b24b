// Widely used SDKs, as published, judge the answers of a running gateway on both paths: one message, one finish reason, the
// usage of all rounds, only the caller's own calls.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { postJson, readSse } from '../support/read-sse.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { aiSdkJudges, langChainJudges } from '../support/agent-judges.js';
import type { Judge, Question } from '../support/chat-judge.js';
import { openAiJudges } from '../support/openai-judges.js';
import { clientTool, serverTool, toolScript } from '../support/tool-script.js';
import { verifies } from '../verifies.js';

let box: SignalboxHere;

beforeAll(async () => {
  box = await startSignalboxHere({ script: toolScript });
});
afterAll(() => box?.close());

interface Dialect {
  path: '/v1' | '/api';
  /** Ways to request that `get_time` runs on the server. */
  serverTools: [string, Pick<Question, 'tools' | 'extra'>][];
}
const mcpEntry = { tools: [{ type: 'mcp', server_label: 'workspace', allowed_tools: ['get_time'] }] };
const dialects: Dialect[] = [
  {
    path: '/v1',
    serverTools: [
      ['an mcp entry', { extra: mcpEntry }],
      ['function names and tool_mode', { tools: [serverTool], extra: { tool_mode: 'auto' } }],
    ],
  },
  {
    path: '/api',
    serverTools: [
      ['an mcp entry', { extra: mcpEntry }],
      ['function names', { tools: [serverTool] }],
    ],
  },
];

const judges: Judge[] = [...openAiJudges, ...aiSdkJudges, ...langChainJudges];
const lookedUp = { name: 'lookup', arguments: { key: 'höhe' } };

for (const { path, serverTools } of dialects) {
  for (const judge of judges) {
    describe(`${judge.name} on ${path}`, () => {
      const ask = (content: string, more: Pick<Question, 'tools' | 'extra'> = {}): Question => ({
        baseUrl: `${box.url}${path}`,
        content,
        ...more,
      });
      const withClientTool = (more: Pick<Question, 'tools' | 'extra'>) => ({
        ...more,
        tools: [...(more.tools ?? []), clientTool],
      });

      verifies('chat.sdk', `${judge.name}, ${path}: plain text`, async () => {
        expect(await judge.hear(ask('plain'))).toEqual({
          text: 'Hello',
          finishReasons: ['stop'],
          calls: [],
          usage: { input: 10, output: 5 },
        });
      });

      for (const [what, offer] of serverTools) {
        verifies('chat.usage.summed', `${judge.name}, ${path}: a server tool through ${what}`, async () => {
          expect(await judge.hear(ask('a server tool', offer))).toEqual({
            text: 'Looking.\n\nGot time',
            finishReasons: ['stop'],
            calls: [],
            usage: { input: 20, output: 10 },
          });
        });

        verifies('chat.sdk', `${judge.name}, ${path}: a mixed turn, server tools through ${what}`, async () => {
          expect(await judge.hear(ask('a mixed turn', withClientTool(offer)))).toEqual({
            text: 'Looking.',
            finishReasons: ['tool_calls'],
            calls: [lookedUp],
            usage: { input: 10, output: 5 },
          });
        });

        verifies('chat.sdk', `${judge.name}, ${path}: its tool loop, server tools through ${what}`, async () => {
          expect(await judge.converse(ask('a mixed turn', withClientTool(offer)))).toBe('Got time and value of höhe');
        });
      }

      verifies('chat.sdk', `${judge.name}, ${path}: client tools`, async () => {
        expect(await judge.hear(ask('two client tools', { tools: [clientTool] }))).toEqual({
          text: 'Looking.',
          finishReasons: ['tool_calls'],
          calls: [lookedUp, { name: 'lookup', arguments: { key: 'b' } }],
          usage: { input: 10, output: 5 },
        });
      });

      verifies('chat.sdk', `${judge.name}, ${path}: its tool loop`, async () => {
        const answer = await judge.converse(ask('two client tools', { tools: [clientTool] }));
        expect(answer).toBe('Got value of höhe and value of b');
      });
    });
  }
}

verifies('chat.usage.summed', 'no usage on a /v1 stream that did not ask', async () => {
  const body = { messages: [{ role: 'user', content: 'plain' }], stream: true };
  const read = await readSse(await postJson(`${box.url}/v1/chat/completions`, body));
  expect(read.events.filter((event) => 'usage' in event)).toEqual([]);
  const asked = { ...body, stream_options: { include_usage: true } };
  const { events } = await readSse(await postJson(`${box.url}/v1/chat/completions`, asked));
  expect(events.filter((event) => 'usage' in event)).toEqual([events.at(-1)]);
  expect(events.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 15 } });
});
