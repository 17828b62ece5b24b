// The pages of a sign-in: in the browser that opened it, in another one, and with everything that an issuer or a stranger can send.
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { type ConnectedGateway, openConnectedGateway } from '../support/connected-gateway.js';
import { verifies } from '../verifies.js';

const hostile = `<img src=x onerror=alert(1)>`;
let gateway: ConnectedGateway;
beforeAll(async () => {
  gateway = await openConnectedGateway(
    {
      ada: { scopes: ['admin', 'tools'] },
      bob: { scopes: ['tools'] },
      [`eve${hostile.replaceAll(' ', '_')}`]: { scopes: ['tools'] },
    },
    {
      // The tests fail a lot from one address.
      limits: { failed_sign_ins_per_minute: 1_000 },
    },
  );
});
afterEach(() => void (gateway.issuer.faults = {}));
afterAll(() => gateway?.close());

verifies('connections.browser-bound', 'an address alone connects nobody: whom and what, then a click', async () => {
  gateway.issuer.user = 'bob';
  const address = await gateway.begin('bob');
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
    expect((await gateway.browser().post(address, {}, headers)).status).toBe(400);
  expect((await gateway.browser().post(address, {}, { origin: 'https://evil.example' })).status).toBe(403);
  const there = gateway.browser();
  const back = await gateway.signIn(there, address);
  expect(await (await there.get(back)).text()).toContain('Connected to hub');
  expect(await gateway.connectionOf('bob')).toMatchObject({ state: 'connected' });
});

verifies(
  'connections.browser-bound',
  'another browser is shown who will be connected, and completes by a click',
  async () => {
    await gateway.ask('bob', 'DELETE', '/api/connections/hub');
    const back = await gateway.signIn(gateway.browser(), await gateway.begin('bob'));
    const other = gateway.browser();
    for (const method of ['HEAD', 'GET']) await fetch(back, { method });
    const asked = await other.get(back);
    const page = await asked.text();
    expect(page).toMatch(/opened in another browser.*<bdi>hub<\/bdi>.*<bdi>bob<\/bdi>/s);
    expect(page).not.toContain(new URL(back).searchParams.get('code')!);
    expect(await gateway.connectionOf('bob')).toMatchObject({ state: 'needed' });
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
  const [first, second] = [gateway.browser(), gateway.browser()];
  await gateway.signIn(first, await gateway.begin('ada'));
  const back = await gateway.signIn(second, await gateway.begin('ada'));
  expect(await (await first.get(back)).text()).toContain('another browser');
  const name = `signalbox_sign_in_`;
  expect(
    await (await gateway.browser().get(back, { cookie: `${name}=x; ${name}; =; ${'a'.repeat(4_000)}` })).text(),
  ).toContain('another browser');
});

verifies(
  'connections.refused',
  'by the user, by the issuer, from another issuer: said in our words, and audited',
  async () => {
    await gateway.ask('ada', 'DELETE', '/api/connections/hub');
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
    const earlier = (await gateway.audit()).length;
    for (const [faults, status, shown, reason] of cases) {
      gateway.issuer.faults = faults;
      const there = gateway.browser();
      const back = await gateway.signIn(there, await gateway.begin('ada'));
      const answer = await there.get(back);
      const page = await answer.text();
      expect([answer.status, page]).toEqual([status, expect.stringMatching(shown)]);
      expect(page).not.toMatch(/canary|<img/);
      expect((await there.get(back)).status).toBe(404);
      expect((await gateway.audit()).at(-1)).toMatchObject({
        principal: 'ada',
        server: 'hub',
        state: 'refused',
        error_code: reason,
        asked: true,
      });
    }
    expect(await gateway.audit()).toHaveLength(earlier + cases.length);
    expect(await gateway.connectionOf('ada')).toMatchObject({ state: 'needed' });
    // A refusal that another browser brings uses nothing up.
    gateway.issuer.faults = {};
    const there = gateway.browser();
    const back = new URL(await gateway.signIn(there, await gateway.begin('ada')));
    const state = back.searchParams.get('state')!;
    expect(
      (await gateway.browser().get(`${back.origin}${back.pathname}?state=${state}&error=access_denied`)).status,
    ).toBe(400);
    expect((await there.get(back.href)).status).toBe(200);
  },
);

verifies('connections.refused', 'an issuer that cannot be used is said before anybody signs in', async () => {
  gateway.issuer.faults = { metadata: { code_challenge_methods_supported: ['plain'] } };
  const answer = await gateway.browser().post(await gateway.begin('ada'));
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
  const large = await gateway.browser().post(`${at}/callback`, { answer: 'x'.repeat(20_000) });
  expect([large.status, large.headers.get('content-type')]).toEqual([413, 'text/html; charset=utf-8']);
  // Forms are read nowhere else.
  const elsewhere = await gateway
    .browser()
    .post(`${gateway.box.url}/api/connections/hub`, {}, { authorization: `Bearer ${gateway.keys['ada']}` });
  expect(elsewhere.status).toBe(415);
});

verifies('connections.pages', 'strict, in the language of the browser, and hostile names are text', async () => {
  const eve = Object.keys(gateway.keys).at(-1)!;
  const address = await gateway.begin(eve);
  for (const [language, shown] of [
    ['zh-CN,zh;q=0.9,en;q=0.8', '连接到 hub？'],
    ['fr, en;q=0.5', 'Connect to hub?'],
  ] as const) {
    const answer = await gateway.browser(language).get(address);
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
