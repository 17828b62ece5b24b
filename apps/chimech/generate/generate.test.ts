import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '#libs/logging/logger.js';
import { type ChimechTestServer, openChimechServer, textOf } from '../../../test/support/chimech-server.js';
import { verifies } from '../../../test/verifies.js';
import { checkCode } from './check-code.js';
import { checkOutput } from './check-output.js';

const opened: ChimechTestServer[] = [];
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'chimech-templates-'));
});
afterEach(async () => {
  for (const server of opened.splice(0)) await server.close();
  await rm(directory, { recursive: true, force: true });
});

async function open(texts: string[], warned: unknown[] = []): Promise<ChimechTestServer> {
  const server = await openChimechServer({
    script: texts.map((text) => ({ text })),
    settings: { templates_dir: directory },
    logger: { ...silentLogger, warn: ({ metadata }) => void warned.push(metadata?.['file']) },
  });
  opened.push(server);
  return server;
}

const email = 'Subject: Meeting moved\n\nDear Ms Li,\n\nwe meet at ten.\n\nKind regards';

verifies('chimech.generate-checked', 'right at once', async () => {
  const { call, gateway } = await open([email]);
  const options = { length: 'short', style: 'formal', language: 'English' };
  const result = await call('chimech/generate', { prompt: 'Move the meeting', type: 'email', options });
  expect(textOf(result)).toBe(email);
  expect(result['metadata']).toMatchObject({ checked: true, tokens_used: 15 });
  expect(result['metadata']).not.toHaveProperty('repaired');
  const [{ content }] = gateway.requests[0]!.body['messages'] as [{ content: string }];
  expect(content).toMatch(/Subject.*Write in English\. Keep it short\. The style is formal\./);
});

verifies('chimech.generate-checked', 'repaired once, or said not to be', async () => {
  const { call, gateway } = await open(['We meet at ten.', email, '```js\nlet = ;\n```', '```js\nlet = ;;\n```']);
  const repaired = await call('chimech/generate', { prompt: 'Move the meeting', type: 'email' });
  expect([textOf(repaired), repaired['metadata']]).toEqual([
    email,
    expect.objectContaining({ checked: true, repaired: true, tokens_used: 30 }),
  ]);
  expect(JSON.stringify(gateway.requests[1]!.body)).toContain('an e-mail needs a line');
  const broken = await call('chimech/generate', { prompt: 'A variable', type: 'code' });
  expect([textOf(broken), broken['metadata']]).toEqual([
    '```js\nlet = ;\n```',
    expect.objectContaining({ checked: false, repaired: false }),
  ]);
  expect(gateway.requests).toHaveLength(4);
});

verifies('chimech.generate-templates', 'used by name, listed as prompts, a broken one left out', async () => {
  const front =
    'name: reply\ntype: email\ndescription: A polite reply\narguments: [recipient, { name: tone, required: true }]';
  await writeFile(join(directory, 'reply.md'), `---\n${front}\n---\nReply to {{recipient}}, {{ tone }}: {{prompt}}`);
  await writeFile(join(directory, 'broken.md'), '---\nname: "no good"\n---\nText');
  await writeFile(join(directory, 'large.md'), `---\nname: large\n---\n${'x'.repeat(64 * 1024)}`);
  await writeFile(join(directory, 'plain.md'), 'No front matter');
  await writeFile(join(directory, 'notes.txt'), 'Not a template');
  const warned: unknown[] = [];
  const { call, client, gateway } = await open([email], warned);
  const result = await call('chimech/generate', { prompt: 'yes, gladly', options: { template: 'reply' } });
  expect(result['metadata']).toMatchObject({ template: 'reply', checked: true });
  expect(JSON.stringify(gateway.requests[0]!.body)).toContain('Reply to [recipient], [tone]: yes, gladly');
  expect(warned).toEqual(['broken.md', 'large.md', 'plain.md']);
  const unknown = await call('chimech/generate', { prompt: 'x', options: { template: 'nope' } });
  expect([unknown['metadata'], textOf(unknown)]).toEqual([
    expect.objectContaining({ errorCode: 'INVALID_PARAMS' }),
    expect.stringContaining('there are: reply'),
  ]);
  const { prompts } = await client.listPrompts();
  expect(prompts).toMatchObject([
    {
      name: 'reply',
      description: 'A polite reply',
      arguments: [{ name: 'recipient', required: false }, { name: 'tone', required: true }, { name: 'prompt' }],
    },
  ]);
  const got = await client.getPrompt({ name: 'reply', arguments: { recipient: 'Bo', tone: 'warm', prompt: 'yes' } });
  expect(got.messages).toEqual([{ role: 'user', content: { type: 'text', text: 'Reply to Bo, warm: yes' } }]);
  await expect(client.getPrompt({ name: 'reply', arguments: {} })).rejects.toThrow('missing: tone, prompt');
  await expect(client.getPrompt({ name: 'nope' })).rejects.toThrow('Unknown prompt');
});

test('an empty directory has no templates', async () => {
  const { client, call } = await open([]);
  expect((await client.listPrompts()).prompts).toEqual([]);
  const unknown = await call('chimech/generate', { prompt: '写', options: { template: 'x' } });
  expect(textOf(unknown)).toContain('没有任何模板');
});

test.each([
  ['email', email, 'right'],
  ['email', '**主题：** 会议改期\n\n尊敬的李女士：\n\n正文', 'right'],
  ['email', 'Betreff: Termin\n\nSehr geehrte Frau Li,\n\nText', 'right'],
  ['email', 'Dear Ms Li,\n\nText', 'wrong'],
  ['email', 'Subject: Meeting\n\nWe meet at ten o’clock in the small room', 'wrong'],
  ['report', '# Sales\n\n## March\n\nGood.', 'right'],
  ['report', 'Sales were good.', 'wrong'],
  ['text', 'Words.', 'right'],
  ['code', '```python\ndef f(x):\n    return x + 1\n```\n', 'right'],
  ['code', '```python\ndef f(x:\n    return\n```', 'wrong'],
  ['code', '```cobol\nDISPLAY "HI".\n```', 'unknown'],
  ['code', '```ts\n```', 'wrong'],
  ['code', '```ts\nconst a: number = 1;', 'right'],
] as const)('the form of %s: %s', async (type, text, form) => {
  expect((await checkOutput(type, text, undefined)).form).toBe(form);
});

test.each([
  ['json', '{"a": [1, 2]}', true],
  ['JSON', '{"a": [1, 2}', false],
  ['yaml', 'a: [1, 2]\nb:\n  - c', true],
  ['yaml', 'a: [1, 2', false],
  ['typescript', 'export class A<T> { constructor(private readonly x: T) {} }', true],
  ['javascript', 'const f = async () => { for await (const x of y) console.log(`${x}`); };', true],
  ['javascript', 'const f = (: number) => 1', false],
  ['tsx', 'export const B = ({ n }: { n: number }) => <b className="x">{n}</b>;', true],
  ['jsx', 'const B = () => <b>', false],
  ['python', 'async def f(*, a: int = 1) -> str:\n    return f"{a!r}"', true],
  ['python', 'print "x', false],
])('code in %s: %s', async (language, code, parses) => {
  const verdict = await checkCode(code, language);
  expect(verdict.known && verdict.problem === undefined).toBe(parses);
});

verifies('chimech.generate-templates', 'those that come with it, where no directory is set', async () => {
  const warned: unknown[] = [];
  const logger = { ...silentLogger, warn: (fields: object) => void warned.push(fields) };
  const server = await openChimechServer({ logger, script: [{ text: email }] });
  opened.push(server);
  const { prompts } = await server.client.listPrompts();
  expect([prompts.map(({ name }) => name), warned]).toEqual([['reply', 'unit-tests', 'weekly-report'], []]);
  const result = await server.call('chimech/generate', { prompt: 'yes', options: { template: 'reply' } });
  expect(result['metadata']).toMatchObject({ template: 'reply', checked: true });
});
