// Resources of a tool server that lists nothing to those who have not signed in: with the rights of one user they are listed, to that one.
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { type ConnectedGateway, openConnectedGateway } from '../support/connected-gateway.js';
import { verifies } from '../verifies.js';

let gateway: ConnectedGateway;
beforeAll(async () => {
  const people = { root: { scopes: ['admin', 'tools'] }, ada: { scopes: ['tools'] }, bob: { scopes: ['tools'] } };
  gateway = await openConnectedGateway(people, {}, { box: { workers: 1 }, servers: ['hub'] });
}, 60_000);
afterAll(() => gateway?.close());

async function connect(owner: string): Promise<void> {
  gateway.issuer.user = owner;
  const there = gateway.browser();
  expect((await there.get(await gateway.signIn(there, await gateway.begin(owner)))).status).toBe(200);
}
const listed = async (owner: string, what: string) => (await gateway.ask(owner, 'GET', `/api/${what}`)).text;

verifies('connections.listed-apart', 'by the API and by MCP, which list them alike', async () => {
  await connect('ada');
  await vi.waitFor(async () => expect(await listed('ada', 'resources')).toContain('doc://card'), {
    timeout: 20_000,
    interval: 100,
  });
  await connect('bob');
  expect(await listed('bob', 'prompts')).toContain('greeting');
  expect(await listed('bob', 'resources')).not.toContain('doc://card');
  const list = { jsonrpc: '2.0', id: 1, method: 'resources/list' };
  const shown = await Promise.all(
    ['ada', 'bob'].map(async (owner) => {
      const headers = { authorization: `Bearer ${gateway.keys[owner]}`, 'content-type': 'application/json' };
      const answer = await fetch(`${gateway.box.url}/mcp`, { method: 'POST', headers, body: JSON.stringify(list) });
      return (await answer.text()).includes('doc://card');
    }),
  );
  expect(shown).toEqual([true, false]);
  for (const owner of ['ada', 'bob']) {
    const { text } = await gateway.ask(owner, 'POST', '/api/resources/read', { uri: 'doc://card' });
    expect(text).toContain(`The card of ${owner}`);
  }
});
