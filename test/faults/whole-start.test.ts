import { afterAll, beforeAll, expect } from 'vitest';
import {
  type ReceivedRequest,
  type ScriptedAnswer,
  type ScriptedUpstream,
  startScriptedUpstream,
} from '../support/scripted-upstream.js';
import { toolsReady } from '../support/services/start-signalbox.js';
import { type HeldWeb, openHeldWeb } from '../support/held-web.js';
import { effects, messagesOf, post, turnOf } from '../support/scripts.js';
import { type Part, startWhole, type WholeStart } from '../support/whole-start.js';
import { verifies } from '../verifies.js';

let upstream: ScriptedUpstream;
let web: HeldWeb;
let whole: WholeStart;
let environment: Record<string, string>;
const onRequest: (() => void)[] = [];
let asked = 0;
let held = 0;

/** The answer to a turn of that name, after a wait if the name asks for one. */
function answer(request: ReceivedRequest): ScriptedAnswer | Promise<ScriptedAnswer> {
  const name = messagesOf(request)[0]!['content'] as string;
  if (name.startsWith('tool_')) return { toolCalls: [{ name: 'fetch', arguments: { url: `${web.url}/held` } }] };
  if (!name.startsWith('model_')) return effects(request);
  held++;
  return new Promise(() => undefined);
}

beforeAll(async () => {
  web = await openHeldWeb();
  upstream = await startScriptedUpstream((request) => {
    onRequest[++asked]?.();
    return answer(request);
  });
  const provider = { kind: 'openai', base_url: upstream.baseUrl, max_retries: 0 };
  environment = {
    MODELS_PROVIDERS: JSON.stringify({ scripted: provider }),
    DEFAULT_MODEL: 'scripted/model',
    TOOLS_FETCH_ALLOW: '127.0.0.1',
  };
  whole = await startWhole(environment);
  await toolsReady(whole.url).catch((cause: unknown) => {
    throw new Error(`no tools: ${whole.output.slice(-40).join('')}`, { cause });
  });
});
afterAll(async () => {
  whole?.kill('SIGKILL');
  await whole?.ended;
  await upstream?.close();
  web?.close();
  await whole?.remove();
});

/** Repeats the same key until it is answered, like a client of a durable service. */
async function insist(name: string): Promise<string> {
  const until = Date.now() + 90_000;
  for (;;) {
    try {
      const { status, body } = await post(whole.url, '/api/chat/completions', turnOf(name), {
        'idempotency-key': name,
      });
      if (status === 200) return body.choices[0]!.message.content ?? '';
      if (status < 429) throw new Error(`${name}: ${JSON.stringify(body)}`, { cause: 'final' });
    } catch (error) {
      if ((error as Error).cause === 'final') throw error;
    }
    if (Date.now() > until) throw new Error(`${name} was not answered: ${whole.output.slice(-20).join('')}`);
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

verifies(
  'reliability.start-survives-kills',
  '60 turns; database, worker and gateway killed in the middle',
  async () => {
    const kill = (part: Part) => () => {
      for (const pid of whole.pids(part)) process.kill(pid, 'SIGKILL');
    };
    onRequest[30] = kill('postgres');
    onRequest[70] = kill('worker');
    onRequest[110] = kill('gateway');
    const names = Array.from({ length: 60 }, (_, at) => `turn_${at}`);
    const answers = await Promise.all(names.map((name) => insist(name)));
    expect(answers).toEqual(names.map((name) => `done ${name}`));

    await toolsReady(whole.url);
    for (const name of names) {
      const file = await fetch(`${whole.url}/api/sessions/${name}/files/effects.txt`);
      const lines = (await file.text()).split('\n').filter(Boolean);
      expect(new Set(lines).size, `${name} ran an unsafe call twice`).toBe(lines.length);
    }
  },
  180_000,
);

verifies(
  'operations.start-leaves-nothing',
  'kill -9 with 60 turns under way; the next start has all that was done',
  async () => {
    // Half of them wait for a model and half for a tool, longer than any grace time.
    const waiting = ['model', 'tool'].flatMap((what) => Array.from({ length: 30 }, (_, at) => `${what}_${at}`));
    const ends = waiting.map(async (name) => {
      const end = await post(whole.url, '/api/chat/completions', turnOf(name)).catch(() => undefined);
      return end?.status ?? 503;
    });
    await expect.poll(() => [held, web.count('/held')], { timeout: 30_000 }).toEqual([30, 30]);

    // Not awaited, because the services keep its output open until they end too.
    whole.kill('SIGKILL');
    await expect.poll(() => whole.leftovers(), { timeout: 10_000 }).toEqual([]);
    expect(await Promise.all(ends)).toEqual(waiting.map(() => 503));

    const before = asked;
    const again = await startWhole({ ...environment, DATA_DIR: whole.dataDir });
    try {
      const { status, body } = await post(again.url, '/api/chat/completions', turnOf('turn_0'), {
        'idempotency-key': 'turn_0',
      });
      expect([status, body.choices[0]?.message.content]).toEqual([200, 'done turn_0']);
      expect(asked).toBe(before);
    } finally {
      again.kill('SIGTERM');
      await again.ended;
    }
  },
  120_000,
);
