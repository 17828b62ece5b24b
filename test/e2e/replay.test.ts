// `npm run replay`: a stored turn with the same model and with another, against what its tools answered then.
import { afterAll, beforeAll, expect } from 'vitest';
import type { Script } from '../support/scripted-upstream.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { runScript } from '../support/run-program.js';
import { messagesOf, post, rounds, workspaceTools } from '../support/scripts.js';
import { verifies } from '../verifies.js';

let box: SignalboxHere;
let runId: string;
let other = false;

const write = (path: string) => ({ name: 'write_file', arguments: { path, content: 'x', append: true } });

beforeAll(async () => {
  const plain = rounds({ text: '好', toolCalls: [write('a.txt')] }, (request) => ({
    text: `It said: ${messagesOf(request).at(-1)!['content'] as string}`,
  }));
  const wayward = rounds({ toolCalls: [write('b.txt'), { name: 'get_time', arguments: {} }] }, { text: 'No.' });
  box = await startSignalboxHere({
    script: (request, number) => ((other ? wayward : plain) as Exclude<Script, unknown[]>)(request, number),
  });
  await post(box.url, '/v1/chat/completions', {
    messages: [{ role: 'user', content: '写一个文件' }],
    tools: [workspaceTools],
    session_id: 'replayed',
  });
  const [run] = await box.rows<{ id: string }>('select id from runs');
  runId = run!.id;
});
afterAll(() => box?.close());

const replay = (...args: string[]) =>
  runScript('replay', args, {
    env: {
      ...process.env,
      DATABASE_URL: box.databaseUrl,
      DEFAULT_MODEL: 'scripted/model',
      MODELS_PROVIDERS: JSON.stringify({ scripted: { kind: 'openai', base_url: box.upstream.baseUrl } }),
    },
  });
const counts = () =>
  box.rows('select (select count(*)::int from runs) runs, (select count(*)::int from audit_events) audit');

verifies('operations.replay', 'the same turn, side by side; nothing runs, nothing is stored', async () => {
  const before = await counts();
  const { code, stdout } = await replay(runId);
  expect([code, stdout.split('\n').at(-2)]).toEqual([0, 'The same calls, in the same order.']);
  expect(stdout).toContain('recorded  scripted/scripted');
  expect(stdout.match(/→ write_file \{.*"a\.txt".*\}: completed$/gm)).toHaveLength(2);
  expect(stdout.match(/It said: /g)).toHaveLength(2);
  const file = await fetch(`${box.url}/api/sessions/replayed/files/a.txt`);
  expect(await file.text()).toBe('x');
  expect(await counts()).toEqual(before);
});

verifies(
  'operations.replay',
  'another model that calls otherwise: what has a recorded result, and what has none',
  async () => {
    other = true;
    const { code, stdout } = await replay(runId, '--model', 'scripted/other', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      run: runId,
      same_calls: false,
      recorded: [{ calls: [{ name: 'write_file', state: 'completed' }] }, { calls: [] }],
      replayed: [
        {
          calls: [
            { name: 'write_file', result: 'other_arguments' },
            { name: 'get_time', result: 'none' },
          ],
        },
        { text: 'No.' },
      ],
    });
  },
);

verifies('operations.replay', 'a run that is not there, wrong usage', async () => {
  const missing = await replay('run_missing');
  expect([missing.code, missing.stderr]).toEqual([1, "Run 'run_missing' not found\n"]);
  expect((await replay()).code).toBe(2);
});
