// A thousand wrong keys from a few addresses, sent to two gateways in turn.
import { Agent, request as httpRequest } from 'node:http';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { mintKey } from '#libs/access/api-key.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { runScript } from '../support/run-program.js';
import { verifies } from '../verifies.js';

const perMinute = 120;
const addresses = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5'];
const agent = new Agent({ keepAlive: true, maxSockets: 16 });
let box: SignalboxHere;

beforeAll(async () => {
  box = await startSignalboxHere({ gateways: 2, workers: 0, environment: { AUTH_MODE: 'keys' } });
});
afterAll(async () => {
  agent.destroy();
  await box?.close();
});

async function makeKey(): Promise<string> {
  const args = ['create', '--owner', 'alice', '--scopes', 'chat', '--json'];
  const { stdout } = await runScript('keys', args, {
    env: { ...process.env, DATABASE_URL: box.databaseUrl },
  });
  return (JSON.parse(stdout) as { key: string }).key;
}

/** Sent from its own loopback address, which the gateway sees. */
function status(gateway: number, key: string, from: string, forwardedFor?: string): Promise<number> {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }),
  };
  return new Promise((resolve, reject) => {
    const options = { agent, localAddress: from, headers, signal: AbortSignal.timeout(10_000) };
    httpRequest(`${box.gateways[gateway]!.url}/v1/models`, options, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode!));
    })
      .once('error', reject)
      .end();
  });
}

verifies('access.wrong-keys', 'each address has its bound, whatever it says of itself; others go on', async () => {
  const [known, fresh] = [await makeKey(), await makeKey()];
  for (const gateway of [0, 1]) expect(await status(gateway, known, addresses[0]!)).toBe(200);
  const seen: Record<string, Record<number, number>> = {};
  let sent = 0;
  const lane = async () => {
    while (sent < 1_000) {
      const number = sent++;
      const from = addresses[number % addresses.length]!;
      const gateway = Math.floor(number / addresses.length) % 2;
      const said = number % 3 === 0 ? `203.0.113.${number % 250}` : undefined;
      const answer = await status(gateway, mintKey().key, from, said);
      const counts = (seen[from] ??= {});
      counts[answer] = (counts[answer] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: 16 }, lane));
  expect(seen).toEqual(Object.fromEntries(addresses.map((from) => [from, { 401: perMinute, 429: 250 - perMinute }])));
  for (const gateway of [0, 1]) {
    expect(await status(gateway, known, addresses[0]!)).toBe(200);
    expect(await status(gateway, fresh, addresses[0]!)).toBe(429);
    expect(await status(gateway, fresh, '127.0.0.9')).toBe(200);
  }
  await vi.waitFor(async () => {
    const rows = await box.rows(
      `select ip, count(*)::int as n from audit_events where kind = 'sign_in_failed' and state <> 'more' group by ip order by ip`,
    );
    expect(rows).toEqual(addresses.map((ip) => ({ ip, n: perMinute })));
  }, 5_000);
});
