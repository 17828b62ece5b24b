// An upstream that breaks off in the middle of its answer, in every way it can: no SDK may take what it has heard for
// the whole answer.
import { inspect } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import { postJson } from '#libs/testing/read-sse.js';
import type { ScriptedChunk } from '#libs/testing/scripted-answer.js';
import type { ReceivedRequest, ScriptedAnswer } from '#libs/testing/scripted-upstream.js';
import { type Signalbox, startSignalbox, toolsReady } from '#libs/testing/start-signalbox.js';
import { aiSdkJudges, langChainJudges } from '../support/agent-judges.js';
import type { Question } from '../support/chat-judge.js';
import { openAiJudges } from '../support/openai-judges.js';
import { verifies } from '../verifies.js';

let box: Signalbox;
let url: string;

beforeAll(async () => {
  box = await startSignalbox({ gateways: 0, script });
  const provider = { kind: 'openai', base_url: box.upstream.baseUrl, api_key: 'sk-scripted', max_retries: 0 };
  const impatient = { ...provider, timeout_ms: { idle: 300 } };
  const gateway = await box.startGateway({ MODELS_PROVIDERS: JSON.stringify({ scripted: provider, impatient }) });
  url = gateway.url;
  await toolsReady(url);
});
afterAll(() => box?.close());

const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: 'chatcmpl-cut',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'scripted',
  choices: [{ index: 0, delta, finish_reason }],
});
const begun: ScriptedChunk[] = [chunk({ role: 'assistant', content: 'It be' }), chunk({ content: 'gan' })];
const halfCall: ScriptedChunk[] = [
  ...begun,
  chunk({ tool_calls: [{ index: 0, id: 'u1', type: 'function', function: { name: 'get_time', arguments: '' } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] }),
];

/** The answer that breaks, and the code that its reader is told. */
const breaks: Record<string, [ScriptedAnswer, string]> = {
  'cut by FIN': [{ chunks: begun, end: 'fin' }, 'model_stream_cut'],
  'cut by RST': [{ chunks: begun, end: 'rst' }, 'model_stream_cut'],
  'ended without a finish reason': [{ chunks: begun }, 'model_stream_cut'],
  'cut inside a call whose arguments look whole': [{ chunks: halfCall, end: 'fin' }, 'model_stream_cut'],
  'silent for too long': [{ chunks: begun, end: 'stall' }, 'model_timeout'],
  'a malformed chunk': [{ chunks: [...begun, 'data: {"choices": [{"ind\n\n'], end: 'stall' }, 'model_bad_response'],
  'an error in the stream': [
    { chunks: [...begun, { error: { message: 'The engine is overloaded', code: 503 } }, 'data: [DONE]\n\n'] },
    'model_error',
  ],
};

/** `<break>`, or `second: <break>` for one that comes after a round with a tool. */
function script(request: ReceivedRequest): ScriptedAnswer {
  const messages = request.body['messages'] as { role: string; content: string }[];
  const asked = messages[0]!.content;
  const later = asked.startsWith('second: ');
  if (later && messages.at(-1)!.role !== 'tool') return { text: 'Looking.', toolCalls: [{ name: 'get_time' }] };
  return breaks[later ? asked.slice('second: '.length) : asked]![0];
}

const offered = { tools: [{ type: 'mcp', server_label: 'workspace', allowed_tools: ['get_time'] }] };
const judges = [...openAiJudges, ...aiSdkJudges, ...langChainJudges];

for (const path of ['/v1', '/api']) {
  for (const judge of judges) {
    for (const [what, [, code]] of Object.entries(breaks)) {
      verifies('chat.stream.cut', `${judge.name}, ${path}: ${what}`, async () => {
        const asked = what === 'silent for too long' ? { model: 'impatient/model' } : {};
        const questions: Question[] = [
          { baseUrl: `${url}${path}`, content: what, extra: asked },
          { baseUrl: `${url}${path}`, content: `second: ${what}`, extra: { ...asked, ...offered } },
        ];
        for (const question of questions) {
          const heard = await judge.hear(question).then(
            (answer) => ({ answer }),
            (error: unknown) => ({ error }),
          );
          expect(heard).toHaveProperty('error');
          // What is thrown is what the gateway said, not the SDK's own confusion about it.
          expect(inspect(heard, { depth: 8 })).toContain(code);
        }
      });
    }
  }
}

verifies('chat.stream.cut', 'nothing of a call that was cut has run', async () => {
  const content = 'second: cut inside a call whose arguments look whole';
  const body = { model: 'scripted/model', messages: [{ role: 'user', content }], stream: true, ...offered };
  const answer = await postJson(`${url}/v1/chat/completions`, body);
  expect(await answer.text()).toContain('model_stream_cut');
  const client = new pg.Client({ connectionString: box.databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query(
      `select round, name, outcome->'error' as error from tool_calls where run_id = $1`,
      [answer.headers.get('x-run-id')],
    );
    expect(rows).toEqual([{ round: 1, name: 'get_time', error: null }]);
  } finally {
    await client.end();
  }
});
