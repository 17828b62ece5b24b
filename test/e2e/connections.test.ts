// Connections over HTTP: by the API with two principals, and by the pages in the browser that began a sign-in, in another one, and
// with everything that an issuer or a stranger can send.
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { BrowserClient } from '../support/browser-client.js';
import { type ConnectedGateway, openConnectedGateway } from '../support/connected-gateway.js';
import { verifies } from '../verifies.js';

const trusted = 'https://chat.example';
const hostile = `<img src=x onerror=alert(1)>`;
let gateway: ConnectedGateway;
beforeAll(async () => {
  gateway = await openConnectedGateway(
    {
      root: { scopes: ['admin', 'tools'] },
      ada: { scopes: ['tools'] },
      bob: { scopes: ['tools'] },
      far: { scopes: ['tools'], tools: { allow: ['elsewhere/*'] } },
      quiet: { scopes: ['chat'] },
      [`eve${hostile.replaceAll(' ', '_')}`]: { scopes: ['tools'] },
    },
    {
      server: { allowed_origins: [trusted] },
      // The tests fail a lot from one address.
      limits: { failed_sign_ins_per_minute: 1_000 },
    },
  );
});
afterEach(() => void (gateway.issuer.faults = {}));
afterAll(() => gateway?.close());

interface Answer {
  data?: { server: string }[];
  authorization_url?: string;
  error?: { param?: string };
  [member: string]: unknown;
}
const ask = async (owner: string, method: string, path: string, body?: object) => {
  const answer = await fetch(gateway.box.url + path, {
    method,
    headers: {
      authorization: `Bearer ${gateway.keys[owner]}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, text, body: (text === '' ? {} : JSON.parse(text)) as Answer };
};
const connectionOf = async (owner: string, server = 'hub') =>
  (await ask(owner, 'GET', '/api/connections')).body.data!.find((each) => each.server === server);
const begin = async (owner: string, body: object = {}): Promise<string> =>
  (await ask(owner, 'POST', '/api/connections/hub', body)).body.authorization_url!;
const browser = (language?: string) => new BrowserClient(gateway.box.url, language);

/** From the address to what the issuer sends the browser back to. */
async function signIn(there: BrowserClient, address: string): Promise<string> {
  const opened = await there.post(address);
  expect(opened.status).toBe(303);
  return (await gateway.issuer.signIn(opened.headers.get('location')!)).href;
}

const audit = (kind = 'connection') =>
  gateway.box.rows<Record<string, unknown>>(
    `select principal, server, state, error_code, ip, request_id <> '' as asked from audit_events where kind = $1 order by at`,
    [kind],
  );

verifies('connections.api', 'begun, signed in, listed for its principal alone, and ended', async () => {
  gateway.issuer.user = 'ada';
  expect(await connectionOf('ada')).toEqual({
    server: 'hub',
    kind: 'oauth',
    state: 'needed',
    scopes: [],
    connected_at: null,
  });
  const there = browser();
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
  expect(await connectionOf('ada')).toMatchObject({ state: 'connected', account: 'ada@example.com', scopes: ['read'] });
  expect(await connectionOf('ada')).not.toHaveProperty('expires_at');
  expect(await connectionOf('bob')).toMatchObject({ state: 'needed' });
  expect((await ask('bob', 'DELETE', '/api/connections/hub')).status).toBe(404);
  expect((await ask('ada', 'DELETE', '/api/connections/hub')).status).toBe(204);
  expect(gateway.issuer.countOf('/revoke')).toBe(1);
  expect((await ask('ada', 'DELETE', '/api/connections/hub')).status).toBe(404);
  const common = { principal: 'ada', server: 'hub', ip: '127.0.0.1', asked: true, error_code: null };
  expect(await audit()).toEqual([
    { ...common, state: 'connected' },
    { ...common, state: 'disconnected' },
  ]);
});

verifies('connections.api', 'servers that a key may not use do not exist for it', async () => {
  expect((await ask('ada', 'GET', '/api/connections')).body.data).toHaveLength(2);
  expect((await ask('far', 'GET', '/api/connections')).body.data).toEqual([]);
  expect((await ask('far', 'POST', '/api/connections/hub')).status).toBe(404);
  expect((await ask('quiet', 'GET', '/api/connections')).status).toBe(403);
  for (const name of ['ledger', 'nobody', '..%2Fhub'])
    expect((await ask('ada', 'POST', `/api/connections/${name}`)).status).toBe(404);
});

verifies('connections.headers', 'given by the API, never shown again', async () => {
  const secret = 'canary-of-a-desk';
  expect((await ask('bob', 'POST', '/api/connections/desk', { headers: {} })).body.error).toMatchObject({
    param: 'X-Key',
  });
  for (const wrong of [{ 'X-Key': 7 }, { 'X-Key': 'a\r\nb' }, 'text'])
    expect((await ask('bob', 'POST', '/api/connections/desk', { headers: wrong })).status).toBe(400);
  const made = await ask('bob', 'POST', '/api/connections/desk', { headers: { 'X-Key': secret } });
  expect(made.body).toMatchObject({ server: 'desk', kind: 'headers', state: 'connected', names: ['X-Key'] });
  expect(made.text + (await ask('bob', 'GET', '/api/connections')).text).not.toContain(secret);
  expect((await ask('bob', 'POST', '/api/connections/desk')).status).toBe(404);
  expect(await connectionOf('ada', 'desk')).toMatchObject({ state: 'needed' });
});

verifies('connections.browser-bound', 'an address alone connects nobody: whom and what, then a click', async () => {
  gateway.issuer.user = 'bob';
  const address = await begin('bob');
  const before = gateway.issuer.asked.length;
  for (const method of ['HEAD', 'GET', 'GET']) {
    const look = await fetch(address, { method, redirect: 'manual' });
    expect(look.status).toBe(200);
    expect(look.headers.get('set-cookie')).toBeNull();
    const page = await look.text();
    if (method === 'GET') expect(page).toMatch(/Connect to hub\?.*<bdi>bob<\/bdi>/s);
  }
  expect(gateway.issuer.asked).toHaveLength(before);
  // A form of another page is not ours.
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
  ])
    expect((await browser().post(address, {}, headers)).status).toBe(400);
  expect((await browser().post(address, {}, { origin: 'https://evil.example' })).status).toBe(403);
  const there = browser();
  const back = await signIn(there, address);
  expect(await (await there.get(back)).text()).toContain('Connected to hub');
  expect(await connectionOf('bob')).toMatchObject({ state: 'connected' });
});

verifies(
  'connections.browser-bound',
  'another browser is shown who will be connected, and completes by a click',
  async () => {
    await ask('bob', 'DELETE', '/api/connections/hub');
    const back = await signIn(browser(), await begin('bob'));
    const other = browser();
    for (const method of ['HEAD', 'GET']) await fetch(back, { method });
    const asked = await other.get(back);
    const page = await asked.text();
    expect(page).toMatch(/opened in another browser.*<bdi>hub<\/bdi>.*<bdi>bob<\/bdi>/s);
    expect(page).not.toContain(new URL(back).searchParams.get('code')!);
    expect(await connectionOf('bob')).toMatchObject({ state: 'needed' });
    const [, answer] = /name="answer" value="([^"]+)"/.exec(page)!;
    const form = new URL('callback', back).href;
    expect((await other.post(form, { answer: answer! }, { 'sec-fetch-site': 'cross-site' })).status).toBe(400);
    for (const forged of ['', 'x', `${answer!.slice(0, -6)}AAAAAA`])
      expect((await other.post(form, { answer: forged })).status).toBe(400);
    const done = await other.post(form, { answer: answer! });
    expect([done.status, await done.text()]).toEqual([200, expect.stringContaining('Connected to hub')]);
    expect((await other.post(form, { answer: answer! })).status).toBe(404);
    expect((await other.get(back)).status).toBe(404);
  },
);

verifies('connections.browser-bound', 'a cookie of one sign-in, or of nobody, is none for another', async () => {
  const [first, second] = [browser(), browser()];
  await signIn(first, await begin('ada'));
  const back = await signIn(second, await begin('ada'));
  expect(await (await first.get(back)).text()).toContain('another browser');
  const name = `signalbox_sign_in_`;
  expect(await (await browser().get(back, { cookie: `${name}=x; ${name}; =; ${'a'.repeat(4_000)}` })).text()).toContain(
    'another browser',
  );
});

verifies(
  'connections.refused',
  'by the user, by the issuer, from another issuer: said in our words, and audited',
  async () => {
    await ask('ada', 'DELETE', '/api/connections/hub');
    const cases: [typeof gateway.issuer.faults, number, RegExp, string][] = [
      [{ refusal: 'access_denied' }, 400, /Not connected.*access_denied/s, 'access_denied'],
      [{ refusal: 'server_error' }, 400, /The issuer refused.*server_error/s, 'server_error'],
      [{ refusal: hostile }, 400, /The issuer refused.*no code/s, 'no code'],
      [{ iss: 'https://other.example' }, 400, /not from the right issuer/, 'invalid_value'],
      [
        { tokenError: { status: 400, body: '{"error":"invalid_grant","error_description":"canary"}' } },
        502,
        /The issuer refused.*invalid_grant/s,
        'invalid_grant',
      ],
      [
        { tokenError: { status: 500, body: `canary ${hostile}` } },
        502,
        /cannot go on at present.*tool_unavailable/s,
        'tool_unavailable',
      ],
    ];
    const earlier = (await audit()).length;
    for (const [faults, status, shown, reason] of cases) {
      gateway.issuer.faults = faults;
      const there = browser();
      const back = await signIn(there, await begin('ada'));
      const answer = await there.get(back);
      const page = await answer.text();
      expect([answer.status, page]).toEqual([status, expect.stringMatching(shown)]);
      expect(page).not.toMatch(/canary|<img/);
      expect((await there.get(back)).status).toBe(404);
      expect((await audit()).at(-1)).toMatchObject({
        principal: 'ada',
        server: 'hub',
        state: 'refused',
        error_code: reason,
        asked: true,
      });
    }
    expect(await audit()).toHaveLength(earlier + cases.length);
    expect(await connectionOf('ada')).toMatchObject({ state: 'needed' });
    // A refusal that another browser brings uses nothing up.
    gateway.issuer.faults = {};
    const there = browser();
    const back = new URL(await signIn(there, await begin('ada')));
    const state = back.searchParams.get('state')!;
    expect((await browser().get(`${back.origin}${back.pathname}?state=${state}&error=access_denied`)).status).toBe(400);
    expect((await there.get(back.href)).status).toBe(200);
  },
);

verifies('connections.refused', 'an issuer that cannot be used is said before anybody signs in', async () => {
  gateway.issuer.faults = { metadata: { code_challenge_methods_supported: ['plain'] } };
  const answer = await browser().post(await begin('ada'));
  expect([answer.status, await answer.text()]).toEqual([502, expect.stringContaining('cannot go on at present')]);
});

verifies('connections.pages', 'foreign, repeated and incomplete states do nothing', async () => {
  const at = `${gateway.box.url}/connections`;
  const wrong: [string, number][] = [
    ['/callback', 400],
    ['/callback?state=', 400],
    ['/callback?state=a&state=b', 400],
    [`/callback?state=${hostile}&code=x`, 404],
    [`/callback?state=a&code=x&iss=https://x.example`, 404],
    ['/open/flow_none', 404],
    ['/open/appr_none', 404],
    [`/open/${encodeURIComponent(hostile)}`, 404],
    ['/open/%00', 404],
  ];
  for (const [path, status] of wrong) {
    const answer = await fetch(at + path);
    const page = await answer.text();
    expect([path, answer.status, answer.headers.get('content-type')]).toEqual([
      path,
      status,
      'text/html; charset=utf-8',
    ]);
    expect(page).not.toContain('<img');
  }
  const large = await browser().post(`${at}/callback`, { answer: 'x'.repeat(20_000) });
  expect([large.status, large.headers.get('content-type')]).toEqual([413, 'text/html; charset=utf-8']);
  // Forms are read nowhere else.
  const elsewhere = await browser().post(
    `${gateway.box.url}/api/connections/hub`,
    {},
    { authorization: `Bearer ${gateway.keys['ada']}` },
  );
  expect(elsewhere.status).toBe(415);
});

verifies('connections.pages', 'strict, in the language of the browser, and hostile names are text', async () => {
  const eve = Object.keys(gateway.keys).at(-1)!;
  const address = await begin(eve);
  for (const [language, shown] of [
    ['zh-CN,zh;q=0.9,en;q=0.8', '连接到 hub？'],
    ['fr, en;q=0.5', 'Connect to hub?'],
  ] as const) {
    const answer = await browser(language).get(address);
    const page = await answer.text();
    expect(page).toContain(shown);
    expect(page).not.toMatch(/<img|<script|\son\w+=|\sstyle=/);
    expect(page).toContain('eve&lt;img_src=x_onerror=alert(1)&gt;');
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self' https: http:; base-uri 'none'; frame-ancestors 'none'$/,
      ) as string,
    });
  }
  const over = await fetch(`${gateway.box.url}/connections/open/flow_none`);
  expect(over.headers.get('content-security-policy')).toContain("form-action 'none'");
  expect(over.headers.get('referrer-policy')).toBe('no-referrer');
});

verifies('connections.return-to', 'the console, and origins that the operator trusts', async () => {
  for (const good of ['/console', '/console/chat/s1?x=1#y', `${gateway.box.url}/console/`, `${trusted}/room/7`, null])
    expect((await ask('root', 'POST', '/api/connections/hub', { return_to: good })).status).toBe(200);
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
    const { status, body } = await ask('root', 'POST', '/api/connections/hub', { return_to: each });
    expect([each, status, body.error?.param]).toEqual([each, 400, 'return_to']);
  }
});

verifies('connections.open-flows', 'at most twenty of a principal, and others are not held up', async () => {
  const statuses = [];
  for (let n = 0; n < 22; n++) statuses.push((await ask('root', 'POST', '/api/connections/hub')).status);
  expect(statuses.slice(-2)).toEqual([429, 429]);
  expect(await begin('bob')).toContain('/connections/open/');
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
