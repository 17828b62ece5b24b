// Resources and prompts of tool servers by the API, and as parts of chats, with real queue, journal, worker and tool server; only the
// model is scripted.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { Signalbox as Client } from '../../clients/typescript/src/index.js';
import { eventually } from '../support/eventually.js';
import { type OfferingServer, startOfferingServer } from '../support/offering-server.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { type TemporaryDirectory, temporaryDirectory } from '../support/services/start-process.js';
import { verifies } from '../verifies.js';

let library: OfferingServer;
let archive: OfferingServer;
let directory: TemporaryDirectory;
let box: SignalboxHere;
let client: Client;

beforeAll(async () => {
  library = await startOfferingServer();
  archive = await startOfferingServer({ name: 'archive', largeLength: 3_000_000 });
  directory = await temporaryDirectory();
  const rules = [
    { name: 'no-secrets', resource: 'library/doc://secret/*', effect: 'deny' },
    { name: 'reviews', prompt: 'archive/review', effect: 'allow' },
    { name: 'never-read', resource: 'none/*', effect: 'allow' },
  ];
  const mcpServers = { library: { url: library.url }, archive: { url: archive.url } };
  const file = join(directory.path, 'signalbox.yaml');
  writeFileSync(file, JSON.stringify({ policy: { default: 'allow', rules }, mcpServers }));
  box = await startSignalboxHere({
    script: () => ({ text: 'Fine.' }),
    environment: { SIGNALBOX_CONFIG: file, TOOLS_MAX_READ_BYTES: '2000000' },
  });
  client = new Client({ baseUrl: box.url, maxRetries: 0 });
  await eventually(async () => (await client.offers.prompts()).data.length === 2, 20_000);
}, 60_000);
afterAll(async () => {
  await box?.close();
  await library?.close();
  await archive?.close();
  await directory?.remove();
});

const send = async (path: string, body: object, headers: Record<string, string> = {}) => {
  const answer = await fetch(box.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const answered = (await answer.json()) as { error?: { code: string; message: string; param?: string } };
  return { status: answer.status, body: answered, error: answered.error, runId: answer.headers.get('x-run-id') };
};
const reads = (kind: string) =>
  box.rows('select server, state, error_code from audit_events where kind = $1 order by id', [kind]);
const lastMessages = () => box.upstream.requests.at(-1)!.body['messages'];

verifies('tools.resources-api', 'lists by server, text and page, reads by list and template, and audits', async () => {
  const first = await client.offers.resources({ limit: 2 });
  expect(first.data).toHaveLength(2);
  const { data } = await client.offers.resources({ limit: 100, cursor: first.next_cursor! });
  const all = [...first.data, ...data].map(({ uri, server }) => [server, uri]);
  expect(all).toContainEqual(['library', 'doc://readme']);
  expect(all).toContainEqual(['archive', 'signalbox://archive/doc://readme']);
  expect(all).not.toContainEqual(['library', 'doc://secret/plan']);
  expect((await client.offers.resources({ server: 'archive', text: 'READ' })).data).toMatchObject([
    { uri: 'signalbox://archive/doc://readme', description: 'About doc://readme' },
  ]);
  expect((await client.offers.templates()).data.map(({ uriTemplate }) => uriTemplate)).toEqual([
    'library://pages/{id}',
    'archive://pages/{id}',
  ]);
  const before = (await reads('resource_read')).length;
  expect(await client.offers.read({ uri: 'doc://readme' })).toMatchObject([{ text: 'Read me, says library' }]);
  expect(await client.offers.read({ uri: 'doc://readme', server: 'archive' })).toMatchObject([
    { text: 'Read me, says archive' },
  ]);
  expect(await client.offers.read({ uri: 'library://pages/9' })).toMatchObject([{ text: 'Page 9' }]);
  const secret = { uri: 'doc://secret/plan', server: 'library' };
  for (const refused of [secret, { uri: 'doc://none' }, { uri: 'doc://readme', server: 'none' }]) {
    await expect(client.offers.read(refused)).rejects.toMatchObject({ status: 404, code: 'not_found' });
  }
  const large = client.offers.read({ uri: 'doc://large', server: 'archive' });
  await expect(large).rejects.toMatchObject({ status: 422, code: 'result_too_large' });
  expect((await reads('resource_read')).slice(before)).toMatchObject([
    { server: 'library', state: 'completed' },
    { server: 'archive', state: 'completed' },
    { server: 'library', state: 'completed' },
    { server: 'library', state: 'denied' },
    { state: 'failed', error_code: 'not_found' },
    { state: 'failed', error_code: 'not_found' },
    { server: 'archive', state: 'failed' },
  ]);
  expect(await send('/api/resources/read', {})).toMatchObject({ status: 400, error: { param: 'uri' } });
  const badPage = await fetch(`${box.url}/api/resources?cursor=none`);
  expect([badPage.status, (await badPage.json()) as object]).toMatchObject([400, { error: { param: 'cursor' } }]);
});

verifies('tools.prompts-api', 'lists, fills and completes', async () => {
  expect((await client.offers.prompts({ server: 'library' })).data).toMatchObject([
    { name: 'review', server: 'library', arguments: [{ name: 'language', required: true }] },
  ]);
  const perl = { arguments: { language: 'perl' } };
  const said = async (asked: { name: string; server?: string }) =>
    (await client.offers.prompt({ ...asked, ...perl })).messages[0]!.content['text'];
  expect(await said({ name: 'review' })).toBe('Review this perl, library');
  expect(await said({ name: 'archive__review' })).toBe('Review this perl, archive');
  expect(await said({ name: 'review', server: 'archive' })).toBe('Review this perl, archive');
  await expect(client.offers.prompt({ name: 'none' })).rejects.toMatchObject({ status: 404 });
  await expect(client.offers.prompt({ name: 'review' })).rejects.toMatchObject({ status: 422 });
  const language = { ref: { type: 'prompt', name: 'review' } as const, argument: { name: 'language', value: 'p' } };
  expect(await client.offers.complete(language)).toMatchObject({ values: ['python', 'perl'] });
  const id = { ref: { type: 'template', uri: 'archive://pages/{id}' } as const, argument: { name: 'id', value: 'o' } };
  expect(await client.offers.complete(id)).toMatchObject({ values: ['one', 'other'] });
});

const readme = { type: 'mcp_resource', uri: 'doc://readme' };
const pixel = { type: 'mcp_resource', uri: 'doc://pixel', server: 'library' };
const review = { type: 'mcp_prompt', name: 'review', arguments: { language: 'ruby' } };
const shownReadme = { type: 'text', text: 'doc://readme\n\nRead me, says library' };
const shownPixel = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAEC' } };
const text = (words: string) => ({ type: 'text', text: words });

const dialects: Record<string, (content: object[]) => [path: string, body: object]> = {
  'chat completions on /v1': (content) => ['/v1/chat/completions', { messages: [{ role: 'user', content }] }],
  'chat completions on /api': (content) => ['/api/chat/completions', { messages: [{ role: 'user', content }] }],
  messages: (content) => ['/v1/messages', { max_tokens: 100, messages: [{ role: 'user', content }] }],
  responses: (content) => [
    '/v1/responses',
    {
      input: [
        {
          role: 'user',
          content: content.map((part) => ('text' in part ? { ...part, type: 'input_text' } : part)),
        },
      ],
    },
  ],
};

for (const [name, request] of Object.entries(dialects)) {
  verifies('chat.offer-parts', `${name}: the model gets what was read, and the messages of a prompt`, async () => {
    const asked = library.asked.length;
    const content = [text('Compare'), readme, pixel, readme, review, text('Be brief')];
    expect(await send(...request(content))).toMatchObject({ status: 200 });
    expect(lastMessages()).toEqual([
      { role: 'user', content: [text('Compare'), shownReadme, shownPixel, shownReadme] },
      { role: 'user', content: 'Review this ruby, library' },
      { role: 'user', content: [text('Be brief')] },
    ]);
    // Equal parts are read once.
    expect(library.asked.slice(asked).sort()).toEqual(['prompts/get ruby', 'resources/read doc://readme']);
  });

  verifies('chat.offer-parts-refused', name, async () => {
    const models = box.upstream.requests.length;
    const refused: [object, number, string][] = [
      [{ type: 'mcp_resource', uri: 'doc://secret/plan' }, 404, 'not_found'],
      [{ type: 'mcp_resource', uri: 'doc://large', server: 'archive' }, 400, 'invalid_value'],
      [{ type: 'mcp_prompt', name: 'review' }, 400, 'invalid_value'],
      [{ type: 'mcp_resource' }, 400, 'invalid_value'],
    ];
    for (const [part, status, code] of refused) {
      const [path, body] = request([text('Look'), part]);
      const { status: got, error } = await send(path, body);
      expect(got, JSON.stringify(error)).toBe(status);
      // Anthropic's errors have a type in place of a code.
      if (path !== '/v1/messages') expect(error).toMatchObject({ code });
      const { uri, name: prompt = '' } = part as { uri?: string; name?: string };
      expect(error!.message).toContain(uri ?? prompt);
      if (path.endsWith('/chat/completions')) expect(error!.param).toMatch(/^messages\[0\]\.content\[1\]/);
    }
    expect(box.upstream.requests.length).toBe(models);
  });
}

verifies('chat.offer-parts-refused', 'in another role, too many of them, and in a replay', async () => {
  const system = {
    messages: [
      { role: 'system', content: [readme] },
      { role: 'user', content: 'Hi' },
    ],
  };
  const inSystem = await send('/v1/chat/completions', system);
  expect(inSystem).toMatchObject({ status: 400, error: { param: 'messages[0].content[0]' } });
  const content = Array.from({ length: 51 }, (_, at) => ({ type: 'mcp_resource', uri: `library://pages/${at}` }));
  const many = await send('/v1/chat/completions', { messages: [{ role: 'user', content }] });
  expect(many).toMatchObject({ status: 400, error: { param: 'messages[0].content[50]' } });
});

verifies('chat.offer-parts-once', 'the run keeps what was read, and a retry with its key reads nothing', async () => {
  const key = { 'idempotency-key': 'offers-once' };
  const body = { messages: [{ role: 'user', content: [text('Sum up'), readme] }] };
  const asked = library.asked.length;
  const first = await send('/api/chat/completions', body, key);
  const again = await send('/api/chat/completions', body, key);
  expect(first.status, JSON.stringify(first.error)).toBe(200);
  expect([again.status, again.runId]).toEqual([200, first.runId]);
  expect(library.asked.length).toBe(asked + 1);
  const [stored] = await box.rows<{ request: { messages: object[] } }>('select request from runs where id = $1', [
    first.runId,
  ]);
  expect(stored!.request.messages).toEqual([{ role: 'user', content: [text('Sum up'), shownReadme] }]);
  const other = { messages: [{ role: 'user', content: [text('Another'), readme] }] };
  expect(await send('/api/chat/completions', other, key)).toMatchObject({
    status: 409,
    error: { code: 'idempotency_mismatch' },
  });
  expect(library.asked.length).toBe(asked + 1);
  const replay = await send(`/api/runs/${first.runId}/replay`, body);
  expect(replay).toMatchObject({ status: 400, error: { param: 'messages' } });
});

verifies('policy.reads-counted', 'hits, unused rules, the audit of a rule, and a draft', async () => {
  const { offers, operations } = client;
  const { policy } = operations;
  const uri = 'doc://readme';
  const before = await policy.show();
  await offers.read({ uri });
  for (const name of ['archive__review', 'review']) await offers.prompt({ name, arguments: { language: 'ruby' } });
  await expect(offers.read({ uri: 'doc://secret/plan' })).rejects.toMatchObject({ code: 'not_found' });
  const after = await policy.show();
  const hitsOf = ({ defaults, rules }: typeof after, rule: string) =>
    [...defaults.map((each) => ({ ...each, name: each.rule })), ...rules].find(({ name }) => name === rule)?.hits ?? 0;
  for (const rule of ['no-secrets', 'reviews', 'default:resource', 'default:prompt'])
    expect(hitsOf(after, rule) - hitsOf(before, rule)).toBe(1);
  const { data } = await operations.audit({ rule: 'no-secrets' });
  expect(data).toMatchObject([{ kind: 'resource_read', error_code: 'tool_denied' }].concat(data.slice(1) as never));

  const draft = `rules:
  - { name: secrets, resource: 'library/doc://secret/*', effect: allow }
  - { name: no-reading, resource: 'library/*', effect: deny }
  - { name: no-ruby, prompt: 'library/*', arguments: [{ path: $.arguments.language, equals: ruby }], effect: deny }`;
  const listed: object[] = [];
  let end: object = {};
  for await (const event of policy.simulate({ policy: draft })) {
    if (event.type === 'call') listed.push(event);
    if (event.type === 'done') end = event;
  }
  expect(listed.slice(0, 3)).toMatchObject([
    { tool: 'resources/read', was: 'refused', now: 'allow', rule: 'secrets' },
    { tool: 'prompts/get', was: 'allow', now: 'deny', rule: 'no-ruby' },
    { tool: 'resources/read', was: 'allow', now: 'deny', rule: 'no-reading' },
  ]);
  expect(end).toMatchObject({ counts: { unknown: 0 } });
  expect((await policy.unused()).rules).toEqual(['never-read']);
});

verifies('tools.prompts-decided', 'by the API: held until it is accepted, then offered and counted', async () => {
  const { operations, offers } = client;
  const metric = async (outcome: string) => {
    const text = await (await fetch(`${box.url}/metrics`)).text();
    const pattern = new RegExp(`^signalbox_tool_changes_total\\{grade="wording",outcome="${outcome}"\\} (\\d+)$`, 'm');
    return Number(pattern.exec(text)?.[1] ?? 0);
  };
  const described = async () => (await offers.prompts({ server: 'library' })).data.map((each) => each.description);
  archive.changes.prompt('added');
  library.changes.review('Reviews code, and sends it');
  await eventually(async () => (await operations.toolChanges()).changes.length === 2, 20_000);
  expect(await described()).toEqual(['Reviews code']);
  const { changes } = await operations.toolChanges();
  expect(changes).toMatchObject([
    { kind: 'prompt', id: 'prompt:archive/added', change: 'new', approved: null },
    {
      kind: 'prompt',
      id: 'prompt:library/review',
      change: 'wording',
      approved: { definition: { description: 'Reviews code' } },
      held: { definition: { description: 'Reviews code, and sends it' } },
    },
  ]);
  const page = await operations.toolChanges({ limit: 1, after: changes[0]!.id });
  expect(page).toMatchObject({ changes: [{ tool: 'review' }], has_more: false });
  expect(await send('/api/prompts/get', { name: 'added' })).toMatchObject({ status: 404 });
  // Its name alone is that of a tool, which has no such change.
  const { server, tool, hash } = changes[1]!;
  await expect(operations.decideToolChanges('accept', [{ server, tool, hash }])).rejects.toMatchObject({
    code: 'tool_change_not_found',
  });
  const [added, review] = changes;
  expect(await operations.decideToolChanges('accept', [review!])).toEqual([
    { kind: 'prompt', server: 'library', tool: 'review', change: 'wording' },
  ]);
  await eventually(async () => (await described())[0] === 'Reviews code, and sends it', 2_000);
  expect(await operations.decideToolChanges('reject', [added!])).toMatchObject([{ server: 'archive', tool: 'added' }]);
  await expect(
    operations.decideToolChanges('accept', [{ kind: 'instructions', server: 'archive', hash }]),
  ).rejects.toMatchObject({ message: expect.stringContaining('the instructions of server') });
  expect([await metric('held'), await metric('accepted'), await metric('rejected')]).toEqual([0, 1, 0]);
});
