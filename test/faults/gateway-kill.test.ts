import { afterAll, beforeAll, expect } from 'vitest';
import type { GatewayFaultPoint } from '#libs/config/fault-points.js';
import type { Script } from '../support/scripted-upstream.js';
import { type Signalbox, startSignalbox, toolsReady } from '../support/services/start-signalbox.js';
import { expectEffectsAsRecorded, expectOneRecordEach } from '../support/joined-records.js';
import { effects, messagesOf, post, turnOf } from '../support/scripts.js';
import { withinMs } from '../support/within-ms.js';
import { verifies } from '../verifies.js';

let box: Signalbox;
let script: Script;
const dead = new Set<number>();
const alive = () => box.gateways.filter((gateway) => !dead.has(gateway.pid));
/** Time after which a dead process is known as dead: a lease lasts 6 s, and is judged after watching for 6 s. */
const recoveryMs = 15_000;

beforeAll(async () => {
  box = await startSignalbox({
    gateways: 2,
    workers: 2,
    script: (request, number) => {
      if (typeof script !== 'function') throw new Error('scripts of this file are functions');
      return script(request, number);
    },
  });
});
afterAll(() => box?.close());

const effectsOf = async (url: string, name: string) =>
  (await (await fetch(`${url}/api/sessions/${name}/files/effects.txt`)).text()).split('\n').filter(Boolean);

verifies(
  'reliability.gateway-killed',
  'between two rounds',
  async () => {
    const [doomed, other] = box.gateways;
    let kill = true;
    dead.add(doomed!.pid);
    script = async (request) => {
      const second = messagesOf(request).some((message) => message['role'] === 'tool');
      if (second && kill) {
        kill = false;
        doomed!.kill('SIGKILL');
        await doomed!.ended;
      }
      return effects(request);
    };
    const headers = { 'idempotency-key': 'between-rounds' };
    await expect(post(doomed!.url, '/api/chat/completions', turnOf('between'), headers)).rejects.toThrow();
    const began = performance.now();
    const { status, body } = await post(other!.url, '/api/chat/completions', turnOf('between'), headers);
    expect(performance.now() - began).toBeLessThan(withinMs(recoveryMs));
    expect(status).toBe(200);
    expect(body.choices[0]!.message.content).toBe('done between');
    expect(body.tool_execution).toMatchObject({ rounds: 3, calls: [{ success: true }, { success: true }] });
    expect(await effectsOf(other!.url, 'between')).toEqual(['0', '1']);
    await box.startGateway().then((gateway) => toolsReady(gateway.url));
  },
  180_000,
);

const points: GatewayFaultPoint[] = ['after-plan', 'after-add', 'before-round', 'before-end', 'before-answer'];

verifies(
  'reliability.gateway-killed',
  `at ${points.join(', ')}`,
  async () => {
    script = effects;
    for (const point of points) {
      const doomed = await box.startGateway({ SIGNALBOX_FAULTS: point });
      dead.add(doomed.pid);
      await toolsReady(doomed.url);
      await expect(
        post(doomed.url, '/api/chat/completions', turnOf(point), { 'idempotency-key': point }),
      ).rejects.toThrow();
      expect((await doomed.ended).signal).toBe('SIGKILL');
    }
    const began = performance.now();
    const answers = await Promise.all(points.map((point) => insist(point, 1)));
    expect(performance.now() - began).toBeLessThan(withinMs(recoveryMs));
    expect(answers).toEqual(points.map((point) => `done ${point}`));
    // It died with its calls planned but not queued: they ran when the run was continued.
    expect(await effectsOf(alive()[0]!.url, 'after-plan')).toEqual(['0', '1']);
    await expectOneRecordEach(box, recoveryMs);
    await expectEffectsAsRecorded(box);
  },
  240_000,
);

/** A persistent client: repeats the same key on any available gateway until it is answered. */
async function insist(name: string, at: number): Promise<string> {
  const until = Date.now() + 120_000;
  for (let attempt = at; ; attempt++) {
    try {
      // There may be no gateway for a moment, until the next one has started.
      const { url } = alive()[attempt % alive().length] ?? { url: 'http://127.0.0.1:1' };
      const { status, body } = await post(url, '/api/chat/completions', turnOf(name), { 'idempotency-key': name });
      if (status === 200) return body.choices[0]!.message.content ?? '';
      if (status < 429) throw new Error(`${name}: ${JSON.stringify(body)}`, { cause: 'final' });
    } catch (error) {
      if ((error as Error).cause === 'final') throw error;
    }
    if (Date.now() > until) throw new Error(`${name} was not answered`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
