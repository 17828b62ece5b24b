// Servers that users connect to, added to and taken out of the configuration of running processes.
import { afterAll, beforeAll, expect } from 'vitest';
import { startWholeSignIns, type WholeSignIns } from '../support/whole-sign-ins.js';
import { verifies } from '../verifies.js';

let here: WholeSignIns;
beforeAll(async () => {
  here = await startWholeSignIns(() => ({}), { gateways: 2 });
}, 120_000);
afterAll(() => here?.close());

const patient = { timeout: 25_000, interval: 100 };
const listed = async (gateway: number) => {
  const { body } = await here.ask('ada', 'GET', `${here.box.gateways[gateway]!.url}/api/connections`);
  return (body['data'] as { server: string; state: string }[]).map(({ server, state }) => [server, state]);
};

verifies('connections.reload', 'a first one is added: users sign in there, and it is taken out again', async () => {
  expect(await listed(0)).toEqual([]);
  expect((await here.ask('ada', 'POST', '/api/connections/hub')).status).toBe(404);
  here.configure({ hub: { url: here.issuer.mcpUrl, auth: { kind: 'oauth' } } });
  for (const gateway of [0, 1]) await expect.poll(() => listed(gateway), patient).toEqual([['hub', 'needed']]);
  await here.offered('ada', 'whoami');
  const asked = await here.ask('ada', 'POST', '/api/tools/call', { name: 'whoami', session_id: 'reload' });
  expect(asked.status).toBe(202);
  const { authorization_url: address } = asked.body['sign_in'] as { authorization_url: string };
  // Another gateway has read the file too.
  const { status, page } = await here.signIn('ada', address, here.box.gateways[1]!.url);
  expect([status, page]).toEqual([200, expect.stringContaining('Connected to hub')]);
  expect(await here.ask('ada', 'POST', '/api/tools/call', { name: 'whoami', session_id: 'reload' })).toMatchObject({
    status: 200,
    body: { content: 'ada' },
  });
  const begun = await here.ask('bob', 'POST', '/api/connections/hub');
  here.configure({});
  for (const gateway of [0, 1]) await expect.poll(() => listed(gateway), patient).toEqual([]);
  expect((await fetch(begun.body['authorization_url'] as string)).status).toBe(404);
  expect((await here.ask('bob', 'POST', '/api/connections/hub')).status).toBe(404);
});

verifies(
  'connections.unused',
  'whoever has connected may end that, on a gateway that never knew the server too',
  async () => {
    const later = await here.box.startGateway();
    const revoked = here.issuer.countOf('/revoke');
    expect((await here.ask('bob', 'DELETE', `${later.url}/api/connections/hub`)).status).toBe(404);
    expect((await here.ask('ada', 'DELETE', `${later.url}/api/connections/hub`)).status).toBe(204);
    expect(here.issuer.countOf('/revoke')).toBe(revoked + 1);
    expect((await here.ask('ada', 'DELETE', '/api/connections/hub')).status).toBe(404);
  },
);
