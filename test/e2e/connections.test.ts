// Connections by the API: with two principals, and keys that allow less.
import { afterAll, beforeAll, expect } from 'vitest';
import { type ConnectedGateway, openConnectedGateway } from '../support/connected-gateway.js';
import { verifies } from '../verifies.js';

const trusted = 'https://chat.example';
let gateway: ConnectedGateway;
beforeAll(async () => {
  gateway = await openConnectedGateway(
    {
      root: { scopes: ['admin', 'tools'] },
      ada: { scopes: ['tools'] },
      bob: { scopes: ['tools'] },
      far: { scopes: ['tools'], tools: { allow: ['elsewhere/*'] } },
      quiet: { scopes: ['chat'] },
    },
    { server: { allowed_origins: [trusted] }, limits: { failed_sign_ins_per_minute: 10 } },
  );
});
afterAll(() => gateway?.close());

verifies('connections.api', 'begun, signed in, listed for its principal alone, and ended', async () => {
  gateway.issuer.user = 'ada';
  expect(await gateway.connectionOf('ada')).toEqual({
    server: 'hub',
    kind: 'oauth',
    state: 'needed',
    scopes: [],
    connected_at: null,
  });
  const there = gateway.browser();
  const began = await there.call('/api/connections/hub', gateway.keys['ada']!, { return_to: '/console/chat?x=1' });
  const { authorization_url: address, expires_at: until } = (await began.json()) as Record<string, string>;
  expect(address).toMatch(/\/connections\/open\/flow_[\w-]+$/);
  expect(address).not.toContain('ada');
  expect(Date.parse(until!) - Date.now()).toBeGreaterThan(590_000);
  expect(began.headers.get('set-cookie')).toMatch(
    /^signalbox_sign_in_\w+=[\w.-]+; Path=\/connections; Max-Age=600; HttpOnly; SameSite=Lax$/,
  );
  // The browser of the console is asked nothing.
  const opened = await there.get(address!);
  expect(opened.status).toBe(302);
  expect(opened.headers.get('referrer-policy')).toBe('no-referrer');
  const back = await gateway.issuer.signIn(opened.headers.get('location')!);
  const done = await there.get(back.href);
  const page = await done.text();
  expect(done.status).toBe(200);
  for (const shown of ['Connected to hub', 'ada@example.com', '<bdi>ada</bdi>', '/console/chat?x=1'])
    expect(page).toContain(shown);
  expect(await gateway.connectionOf('ada')).toMatchObject({
    state: 'connected',
    account: 'ada@example.com',
    scopes: ['read'],
  });
  expect(await gateway.connectionOf('ada')).not.toHaveProperty('expires_at');
  expect(await gateway.connectionOf('bob')).toMatchObject({ state: 'needed' });
  expect((await gateway.ask('bob', 'DELETE', '/api/connections/hub')).status).toBe(404);
  expect((await gateway.ask('ada', 'DELETE', '/api/connections/hub')).status).toBe(204);
  expect(gateway.issuer.countOf('/revoke')).toBe(1);
  expect((await gateway.ask('ada', 'DELETE', '/api/connections/hub')).status).toBe(404);
  const common = { principal: 'ada', server: 'hub', ip: '127.0.0.1', asked: true, error_code: null };
  expect(await gateway.audit()).toEqual([
    { ...common, state: 'connected' },
    { ...common, state: 'disconnected' },
  ]);
});

verifies('connections.api', 'servers that a key may not use do not exist for it', async () => {
  expect((await gateway.ask('ada', 'GET', '/api/connections')).body.data).toHaveLength(2);
  expect((await gateway.ask('far', 'GET', '/api/connections')).body.data).toEqual([]);
  expect((await gateway.ask('far', 'POST', '/api/connections/hub')).status).toBe(404);
  expect((await gateway.ask('quiet', 'GET', '/api/connections')).status).toBe(403);
  for (const name of ['ledger', 'nobody', '..%2Fhub'])
    expect((await gateway.ask('ada', 'POST', `/api/connections/${name}`)).status).toBe(404);
});

verifies('connections.headers', 'given by the API, never shown again', async () => {
  const secret = 'canary-of-a-desk';
  expect((await gateway.ask('bob', 'POST', '/api/connections/desk', { headers: {} })).body.error).toMatchObject({
    param: 'X-Key',
  });
  for (const wrong of [{ 'X-Key': 7 }, { 'X-Key': 'a\r\nb' }, 'text'])
    expect((await gateway.ask('bob', 'POST', '/api/connections/desk', { headers: wrong })).status).toBe(400);
  const made = await gateway.ask('bob', 'POST', '/api/connections/desk', { headers: { 'X-Key': secret } });
  expect(made.body).toMatchObject({ server: 'desk', kind: 'headers', state: 'connected', names: ['X-Key'] });
  expect(made.text + (await gateway.ask('bob', 'GET', '/api/connections')).text).not.toContain(secret);
  expect((await gateway.ask('bob', 'POST', '/api/connections/desk')).status).toBe(404);
  expect(await gateway.connectionOf('ada', 'desk')).toMatchObject({ state: 'needed' });
});

verifies('connections.return-to', 'the console, and origins that the operator trusts', async () => {
  for (const good of ['/console', '/console/chat/s1?x=1#y', `${gateway.box.url}/console/`, `${trusted}/room/7`, null])
    expect((await gateway.ask('root', 'POST', '/api/connections/hub', { return_to: good })).status).toBe(200);
  const bad = [
    '//evil.example',
    '/\\evil.example',
    '/console/../api/keys',
    '/consoles',
    'https://evil.example',
    `${trusted}.evil.example/`,
    'javascript:alert(1)',
    `https://user@chat.example/`,
    'console',
    'http://chat.example',
    ' https://chat.example/',
    7,
    'x'.repeat(3_000),
  ];
  for (const each of bad) {
    const { status, body } = await gateway.ask('root', 'POST', '/api/connections/hub', { return_to: each });
    expect([each, status, body.error?.param]).toEqual([each, 400, 'return_to']);
  }
});

verifies('connections.open-flows', 'at most twenty of a principal, and others are not held up', async () => {
  const statuses = [];
  for (let n = 0; n < 22; n++) statuses.push((await gateway.ask('root', 'POST', '/api/connections/hub')).status);
  expect(statuses.slice(-2)).toEqual([429, 429]);
  const headers = { authorization: `Bearer ${gateway.keys['root']}` };
  const metrics = await (await fetch(`${gateway.box.url}/metrics`, { headers })).text();
  const refused = Number(/^signalbox_rate_limited_total\{limit="open_sign_ins"\} (\d+)$/m.exec(metrics)?.[1]);
  expect(refused).toBe(statuses.filter((status) => status === 429).length);
  expect(await gateway.begin('bob')).toContain('/connections/open/');
});

verifies('connections.client', 'its metadata document has its own address as its id', async () => {
  const address = `${gateway.box.url}/.well-known/signalbox-client.json`;
  const answer = await fetch(address);
  expect(await answer.json()).toEqual({
    client_id: address,
    client_name: 'Signalbox',
    client_uri: gateway.box.url,
    redirect_uris: [`${gateway.box.url}/connections/callback`],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    application_type: 'native',
    token_endpoint_auth_method: 'none',
  });
  expect(answer.headers.get('cache-control')).toBe('public, max-age=3600');
});

verifies('connections.pages', 'an address that guesses is refused for a while', async () => {
  const guess = () => fetch(`${gateway.box.url}/connections/callback?state=guessed&code=x`);
  const statuses = [];
  for (let n = 0; n < 12; n++) statuses.push((await guess()).status);
  expect(statuses.slice(0, 10)).toEqual(Array(10).fill(404));
  const refused = await guess();
  expect([refused.status, await refused.text()]).toEqual([429, expect.stringContaining('Too many attempts')]);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
});
