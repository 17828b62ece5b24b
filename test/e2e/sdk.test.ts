// The SDKs that people use, as they come from their registries, judge the answers of a running gateway on both paths:
// one message, one finish reason, the usage of all rounds, no call that is not the caller's.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { postJson, readSse } from '#libs/testing/read-sse.js';
import type { ReceivedRequest, ScriptedAnswer } from '#libs/testing/scripted-upstream.js';
import { type Signalbox, startSignalbox } from '#libs/testing/start-signalbox.js';
import { aiSdkJudges, langChainJudges } from '../support/agent-judges.js';
import type { Judge, JudgeTool, Question } from '../support/chat-judge.js';
import { openAiJudges } from '../support/openai-judges.js';
import { verifies } from '../verifies.js';

let box: Signalbox;

beforeAll(async () => {
  box = await startSignalbox({ script });
});
afterAll(() => box?.close());

interface AskedMessage {
  role: string;
  content: string;
  tool_calls?: { id: string; function: { name: string } }[];
  tool_call_id?: string;
}

/** What the model says, by what the user said and how far the conversation has come. */
function script(request: ReceivedRequest): ScriptedAnswer {
  const messages = request.body['messages'] as unknown as AskedMessage[];
  const asked = messages.find((message) => message.role === 'user')!.content;
  const calls = firstCalls[asked];
  if (calls === undefined) return { text: ['Hel', 'lo'] };
  if (messages.at(-1)!.role !== 'tool') return { text: ['Looking', '.'], toolCalls: calls };
  return { text: ['Got ', told(messages)] };
}

const lookup = { id: 'upstream_1', name: 'lookup', arguments: { key: 'höhe' } };
const clock = { id: 'upstream_0', name: 'get_time', arguments: { offset_ms: 0 } };
const firstCalls: Record<string, (typeof lookup | typeof clock)[]> = {
  'a server tool': [clock],
  'a client tool': [lookup],
  'two client tools': [lookup, { ...lookup, id: 'upstream_2', arguments: { key: 'b' } }],
  'a mixed turn': [clock, lookup],
};

/** The model sees every call answered, in order; of the clock's answer only that there is one. */
function told(messages: AskedMessage[]): string {
  const calls = messages.flatMap((message) => message.tool_calls ?? []);
  const results = messages.filter((message) => message.role === 'tool');
  return calls
    .map(({ id, function: { name } }, at) => {
      if (results[at]?.tool_call_id !== id) return `no answer to ${name}`;
      return name === 'get_time' ? 'time' : results[at].content;
    })
    .join(' and ');
}

const parameters = { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] };
const clientTool: JudgeTool = {
  name: 'lookup',
  parameters,
  run: (args) => `value of ${(args as { key: string }).key}`,
};
const serverTool: JudgeTool = {
  name: 'get_time',
  parameters: { type: 'object', properties: { offset_ms: { type: 'number' } } },
  run: () => {
    throw new Error('the client was made to run a tool of the server');
  },
};

interface Dialect {
  path: '/v1' | '/api';
  /** Ways to ask that `get_time` runs at the server. */
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
