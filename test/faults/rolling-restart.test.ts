// Three gateways and three workers, sixty turns under way at any moment, every process replaced: first in order, then two
// of them killed. Turns write an effect by a server of their session and one by a shared server.
import pg from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import type { ReceivedRequest, ScriptedAnswer } from '#libs/testing/scripted-upstream.js';
import { type Signalbox, startSignalbox, toolsReady } from '#libs/testing/start-signalbox.js';
import type { StartedProcess } from '#libs/testing/start-process.js';
import { effectFiles, expectEffectsAsRecorded, expectOneRecordEach } from '../support/joined-records.js';
import { type Completion, messagesOf, post } from '../support/scripts.js';
import { verifies } from '../verifies.js';

const atOnce = 60;
const sessions = 20;
/** Upstreams take their time: turns are long enough to be met by a stop. */
const thinkingMs = 1_000;
/** A lease lasts 6 s, and is judged after a whole watch of 6 s; twice that on a busy machine. */
const recoveryMs = 30_000;

let box: Signalbox;
let connections: Connections;
const replaced: StartedProcess[] = [];

beforeAll(async () => {
  box = await startSignalbox({
    gateways: 3,
    workers: 3,
    script: async (request) => {
      await new Promise((resolve) => setTimeout(resolve, thinkingMs));
      return plan(request);
    },
    environment: {
      // A busy machine is not what this is about.
      DATABASE_TIMEOUT_MS: '10000',
      MCP_SERVERS: JSON.stringify({
        workspace: { builtin: 'workspace' },
        own: { builtin: 'workspace', scope: 'session' },
      }),
    },
  });
  connections = await watchConnections(box.databaseUrl);
}, 90_000);
afterAll(async () => {
  await connections?.stop();
  await box?.close();
});

function plan(request: ReceivedRequest): ScriptedAnswer {
  const messages = messagesOf(request);
  const name = messages[0]!['content'] as string;
  const round = messages.filter((message) => message['role'] === 'assistant').length;
  const write = (tool: string) => ({
    name: tool,
    arguments: { path: `${name}.txt`, content: `${round}\n`, append: true },
  });
  if (round === 0) return { toolCalls: [write('own__write_file'), { name: 'get_time', arguments: {} }] };
  if (round === 1) return { toolCalls: [write('write_file'), { name: 'own__get_time', arguments: {} }] };
  return { text: `done ${name}` };
}

/** Clients that always have sixty turns under way, each with its key, and never give one up. */
class Clients {
  answers: { name: string; status: number; body: Completion }[] = [];
  /** Answers that were neither the turn's nor one that says when to come again. */
  failures: string[] = [];
  private stopping = false;
  private begun = 0;
  private readonly loops: Promise<void>[];

  constructor(
    private readonly prefix: string,
    /** A stopping one stays on the list until it has been replaced, as it would for a client that knows no better. */
    private readonly gateways: StartedProcess[],
  ) {
    this.loops = Array.from({ length: atOnce }, () => this.turns());
  }

  /** No new turn; resolves when those under way have been answered. */
  async stop(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.loops);
  }

  private async turns(): Promise<void> {
    while (!this.stopping) {
      const number = this.begun++;
      this.answers.push(await this.insist(`${this.prefix}${number}`, number));
    }
  }

  private async insist(name: string, number: number) {
    const body = {
      messages: [{ role: 'user', content: name }],
      tools: ['workspace', 'own'].map((server_label) => ({ type: 'mcp', server_label })),
      session_id: `s${number % sessions}`,
    };
    const headers = { 'idempotency-key': name, connection: 'close' };
    const until = performance.now() + 90_000;
    for (let attempt = number; performance.now() < until; attempt += 1) {
      const { url } = this.gateways[attempt % this.gateways.length]!;
      try {
        const answer = await post(url, '/api/chat/completions', body, headers);
        if (answer.status === 200) return { name, ...answer };
        if (!answer.headers.has('retry-after')) this.failures.push(`${name}: ${JSON.stringify(answer.body)}`);
      } catch {
        // Nobody listens there any more, or is gone.
      }
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    throw new Error(`${name} was not answered`);
  }
}

interface Connections {
  /** The most that any process of ours had open at a look. */
  most(): number;
  stop(): Promise<void>;
}

async function watchConnections(url: string): Promise<Connections> {
  const client = new pg.Client({ connectionString: url, application_name: 'watch' });
  await client.connect();
  const text = `select application_name as name, count(*)::int as count from pg_stat_activity
    where datname = current_database() and application_name <> 'watch' group by 1`;
  const most = new Map<string, number>();
  const stopping = new AbortController();
  const watching = (async () => {
    while (!stopping.signal.aborted) {
      const { rows } = await client.query<{ name: string; count: number }>(text);
      for (const { name, count } of rows) most.set(name, Math.max(count, most.get(name) ?? 0));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  return {
    most: () => Math.max(...most.values()),
    stop: async () => {
      stopping.abort();
      await watching;
      await client.end();
    },
  };
}

/** The oldest goes on until it has ended, only then does another come: the database has room for so many. */
async function replace(kind: 'gateway' | 'worker', old: StartedProcess): Promise<number | null> {
  const code = await old.stop();
  const list = kind === 'gateway' ? box.gateways : box.workers;
  const started = await (kind === 'gateway' ? box.startGateway() : box.startWorker());
  if (kind === 'gateway') await toolsReady(started.url);
  list.splice(list.indexOf(old), 1);
  replaced.push(old);
  return code;
}

/** A deadline of the store that a busy machine missed: the turn was refused or goes on with its next try. */
const busy = 'store_unavailable';

/** How the turns of a process ended, by its own log. */
const outcomesIn = ({ log }: StartedProcess) =>
  log
    .filter((line) => line['message'] === 'chat')
    .map((line) => (line['metadata'] as { outcome: string }).outcome)
    .filter((outcome) => outcome !== busy);

const errorsIn = ({ log }: StartedProcess) =>
  log
    .filter((line) => line['level'] === 'error')
    .map((line) => JSON.stringify(line))
    .filter((text) => !text.includes(busy));

verifies(
  'reliability.rolling-restart',
  'three gateways and three workers, one after the other',
  async () => {
    const clients = new Clients('rolled-', box.gateways);
    const codes: (number | null)[] = [];
    for (const [gateway, worker] of box.gateways.map((each, at) => [each, box.workers[at]!] as const)) {
      codes.push(...(await Promise.all([replace('worker', worker), replace('gateway', gateway)])));
    }
    await clients.stop();
    expect(codes).toEqual(Array(6).fill(0));
    expect(clients.failures).toEqual([]);
    const everyone = [...replaced, ...box.gateways, ...box.workers];
    expect(everyone.flatMap(errorsIn)).toEqual([]);
    // None was begun twice: each turn that was taken was answered by who took it.
    // A line of the log comes after its answer.
    const told = () => everyone.flatMap(outcomesIn);
    await expect.poll(() => told().length, { timeout: 10_000 }).toBeGreaterThanOrEqual(clients.answers.length);
    expect(told()).toEqual(clients.answers.map(() => 'ok'));
    expect(clients.answers.length).toBeGreaterThan(2 * atOnce);
    for (const { name, body } of clients.answers) {
      expect(body.choices[0]!.message.content).toBe(`done ${name}`);
      expect(body.tool_execution!.calls.map(({ success }) => success)).toEqual(Array(4).fill(true));
    }
    await expectOneRecordEach(box, recoveryMs);
    const files = await effectFiles(box);
    expect(files).toHaveLength(clients.answers.length);
    for (const { path, effects, lost } of files) expect([path, effects, lost]).toEqual([path, ['0', '1'], 0]);
  },
  180_000,
);

verifies(
  'reliability.killed-at-random',
  'a gateway and a worker with sessions of three killed under load',
  async () => {
    const clients = new Clients('killed-', box.gateways);
    const begun = box.upstream.requests.length;
    await box.upstream.received(begun + 2 * atOnce, 60_000);
    const victims = [box.gateways.shift()!, box.workers.shift()!];
    for (const victim of victims) victim.kill('SIGKILL');
    await Promise.all(victims.map(({ ended }) => ended));
    await Promise.all([box.startGateway(), box.startWorker()]);
    await clients.stop();
    for (const { name, body } of clients.answers) expect(body.choices[0]!.message.content).toBe(`done ${name}`);
    await expectOneRecordEach(box, recoveryMs);
    await expectEffectsAsRecorded(box);
    const doubled = await effectFiles(box);
    expect(doubled.length).toBeGreaterThan(0);
  },
  180_000,
);

verifies('reliability.few-connections', 'the most that one process had, from its start to its end', async () => {
  expect(connections.most()).toBeGreaterThan(3);
  expect(connections.most()).toBeLessThanOrEqual(12);
});
