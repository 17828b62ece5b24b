// An upstream that breaks off in the middle of its answer, in every possible way: no SDK may take the part it received for
// the whole answer.
import pg from 'pg';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { postJson } from '../support/read-sse.js';
import { type SignalboxHere, startSignalboxHere, toolsReady } from '../support/services/start-signalbox.js';
import { aiSdkJudges, langChainJudges } from '../support/agent-judges.js';
import { expectThrown, type Question } from '../support/chat-judge.js';
import { breaks, cutScript } from '../support/cut-script.js';
import { openAiJudges } from '../support/openai-judges.js';
import { verifies } from '../verifies.js';

let box: SignalboxHere;
let url: string;

beforeAll(async () => {
  box = await startSignalboxHere({ gateways: 0, script: cutScript });
  const provider = { kind: 'openai', base_url: box.upstream.baseUrl, api_key: 'sk-scripted', max_retries: 0 };
  const impatient = { ...provider, timeout_ms: { idle: 300 } };
  const gateway = await box.startGateway({ MODELS_PROVIDERS: JSON.stringify({ scripted: provider, impatient }) });
  url = gateway.url;
  await toolsReady(url);
});
afterAll(() => box?.close());

const offered = { tools: [{ type: 'mcp', server_label: 'workspace', allowed_tools: ['get_time'] }] };
const judges = [...openAiJudges, ...aiSdkJudges, ...langChainJudges];

// Each is a separate conversation that waits now and then.
describe.concurrent('every break, as every SDK reports it', () => {
  for (const path of ['/v1', '/api']) {
    for (const judge of judges) {
      for (const [what, [, code]] of Object.entries(breaks)) {
        verifies('chat.stream.cut', `${judge.name}, ${path}: ${what}`, async () => {
          const asked = what === 'silent for too long' ? { model: 'impatient/model' } : {};
          const questions: Question[] = [
            { baseUrl: `${url}${path}`, content: what, extra: asked },
            { baseUrl: `${url}${path}`, content: `second: ${what}`, extra: { ...asked, ...offered } },
          ];
          for (const question of questions) await expectThrown(judge, question, code);
        });
      }
    }
  }
});

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
