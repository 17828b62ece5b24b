// Replays whose gateway ends, with processes of its own: nobody continues them.
import { afterAll, beforeAll, expect } from 'vitest';
import type { ListedRun } from '../../clients/typescript/src/index.js';
import { eventually } from '../support/eventually.js';
import { type Replaying, startReplaying, user } from '../support/replaying.js';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

let here: Replaying;
let box: Signalbox;
let id: string;

beforeAll(async () => {
  here = await startReplaying(async (options) => (box = await startSignalbox(options)), {
    gateways: 3,
    environment: { SERVER_SHUTDOWN_GRACE_MS: '300' },
  });
  here.follow(() => ({ text: 'said' }));
  id = await here.chat('alice', { messages: [user('Say')] });
  here.follow(() => new Promise(() => {}));
}, 90_000);
afterAll(() => here?.close());

for (const [at, signal, error] of [
  [1, 'SIGKILL', undefined],
  [2, 'SIGTERM', 'shutting_down'],
] as const) {
  verifies(
    'replay.stops',
    `the gateway gets ${signal}`,
    async () => {
      const { url, ...gateway } = box.gateways[at]!;
      const asked = box.upstream.requests.length + 1;
      const authorization = `Bearer ${here.keys['alice']!.key}`;
      const begun = await fetch(`${url}/api/runs/${id}/replay`, { method: 'POST', headers: { authorization } });
      expect(begun.status).toBe(202);
      const replay = ((await begun.json()) as ListedRun).id;
      const request = await box.upstream.received(asked);
      const seen = async () => (await here.ask('alice', `/api/runs/${replay}`)).body as ListedRun;
      gateway.kill(signal);
      await request.clientGone;
      await gateway.ended;
      // Who is told to stop writes it; of who was killed, the others find it.
      if (error === undefined) await eventually(async () => (await seen()).state !== 'running', 20_000);
      expect([(await seen()).state, (await seen()).error?.code]).toEqual(['interrupted', error]);
      // Two looks of the living gateways for runs to continue.
      await new Promise((resolve) => setTimeout(resolve, 4_500));
      const [run] = await box.rows<{ state: string; adoptions: number }>(
        'select state, adoptions from runs where id = $1',
        [replay],
      );
      expect([run, box.upstream.requests.length]).toEqual([{ state: 'interrupted', adoptions: 0 }, asked]);
      const events = await here.ask('alice', `/api/runs/${replay}/events`);
      expect(JSON.stringify(events.body)).toContain('start the replay again');
      const cancelled = await here.ask('alice', `/api/runs/${replay}`, undefined, { method: 'DELETE' });
      expect(cancelled.body).toMatchObject({ state: 'cancelled' });
    },
    60_000,
  );
}
