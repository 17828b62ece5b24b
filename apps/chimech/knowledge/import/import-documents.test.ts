import { execFileSync } from 'node:child_process';
import { chmodSync, rmSync, symlinkSync, truncateSync, unlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import iconv from 'iconv-lite';
import { openTestKnowledge, signal, type TestKnowledge } from '../../../../test/support/knowledge.js';
import { docxOf, pdfOf, zipOf } from '../../../../test/support/office-files.js';
import { verifies } from '../../../../test/verifies.js';
import { splitPassages } from './split-passages.js';

let knowledge: TestKnowledge;
beforeEach(async () => {
  knowledge = await openTestKnowledge();
});
afterEach(() => knowledge.close());

const found = async (query: string) =>
  (await knowledge.base.search({ query: `"${query}"` }, signal())).hits.map(({ id }) => id.replace('test/', ''));

verifies('knowledge.formats', 'each of them, with titles, categories and dates', async () => {
  const { write } = knowledge;
  write(
    'guides/a.md',
    '\ufeff---\ntitle: First guide\ncategory: basics\ndate: 2024-02-03\n---\n# Ignored\n\n- one *red* [fox](http://x)\n\n```js\nconst fox = 1;\n```\n',
  );
  write('guides/b.markdown', '# Second guide\r\n\r\nA brown\r\nbear | no table\r\n');
  write('c.txt', 'A grey\nwolf\n\nhowls.');
  write(
    'page.html',
    '<!doctype html><title>A &amp; B</title><style>p{}</style><nav>Home</nav><h1>Hello</h1><p>A blue <b>whale</b>&nbsp;sings<script>evil()</script></p><table><tr><td>x</td><td>y</td></tr></table><div>never closed <p>a white',
  );
  write('paper.PDF', pdfOf([['A green', 'parrot (talks).'], ['Second page.']], 'On parrots'));
  write('letter.docx', docxOf('Dear reader', ['A pink flamingo &amp; co.', '一只白鹤']));
  write('matter.md', '---\nnot: [closed\n---\nA black swan');
  const before = new Date('2025-06-07T08:09:10Z');
  utimesSync(join(knowledge.directory, 'c.txt'), before, before);
  expect(await knowledge.import()).toEqual({
    imported: 7,
    unchanged: 0,
    removed: 0,
    missing: 0,
    embedded: 0,
    failed: [],
  });
  for (const [phrase, path] of Object.entries({
    'one red fox': 'guides/a.md',
    'const fox = 1;': 'guides/a.md',
    'A brown bear | no table': 'guides/b.markdown',
    'A grey wolf': 'c.txt',
    'A blue whale sings': 'page.html',
    'never closed': 'page.html',
    'A green parrot (talks).': 'paper.PDF',
    'Second page.': 'paper.PDF',
    'A pink flamingo & co.': 'letter.docx',
    一只白鹤: 'letter.docx',
    'A black swan': 'matter.md',
  }))
    expect(await found(phrase), phrase).toEqual([path]);
  expect([...(await found('evil')), ...(await found('Home'))]).toEqual([]);
  const { hits } = await knowledge.base.search({ query: 'fox bear wolf whale parrot flamingo' }, signal());
  const reported = Object.fromEntries(
    hits.map(({ id, title, category, date }) => [id, [title, category, date.slice(0, 10)]]),
  );
  expect(reported).toMatchObject({
    'test/guides/a.md': ['First guide', 'basics', '2024-02-03'],
    'test/guides/b.markdown': ['Second guide', 'guides', expect.any(String)],
    'test/c.txt': ['c', 'general', '2025-06-07'],
    'test/page.html': ['A & B', 'general', expect.any(String)],
    'test/paper.PDF': ['On parrots', 'general', expect.any(String)],
    'test/letter.docx': ['Dear reader', 'general', expect.any(String)],
  });
});

verifies('knowledge.formats', 'encodings, declared and not', async () => {
  const chinese = '知识库可以检索各种编码的文档，导入时自动识别编码。';
  const texts: Record<string, [text: string, encoding: string]> = {
    'gbk.txt': [`${chinese}甲`, 'gbk'],
    'gb18030.md': [`${chinese}乙`, 'gb18030'],
    'big5.txt': ['知識庫可以檢索各種編碼的文件，匯入時會自動辨識編碼，不必先行轉換。', 'big5'],
    'latin.txt': ['Le café est fermé à cause de la fête, voilà.', 'latin1'],
    'cyrillic.txt': ['База знаний находит документы в любой кодировке, и это хорошо.', 'windows-1251'],
    'japanese.txt': ['ナレッジベースはさまざまな文字コードの文書を読み込みます。', 'shift_jis'],
  };
  for (const [path, [text, encoding]] of Object.entries(texts)) knowledge.write(path, iconv.encode(text, encoding));
  for (const encoding of ['utf-16le', 'utf-16be', 'utf-8'])
    knowledge.write(`${encoding}.txt`, iconv.encode(`${chinese}${encoding}`, encoding, { addBOM: true }));
  knowledge.write('declared.html', iconv.encode('<meta charset="gb2312"><p>短文', 'gbk'));
  knowledge.write(
    'broken.txt',
    Buffer.concat([
      Buffer.from('Mostly proper 中文 text with '),
      Buffer.from([0xe4, 0xb8]),
      Buffer.from(' one mistake.'),
    ]),
  );
  expect((await knowledge.import()).failed).toEqual([]);
  for (const [path, [text]] of Object.entries(texts)) expect(await found(text), path).toEqual([path]);
  for (const encoding of ['utf-16le', 'utf-16be', 'utf-8'])
    expect(await found(`${chinese}${encoding}`)).toEqual([`${encoding}.txt`]);
  expect(await found('短文')).toEqual(['declared.html']);
  expect(await found('proper 中文 text with')).toEqual(['broken.txt']);
});

verifies('knowledge.incremental', 'unchanged, changed, gone, pruned, another source', async () => {
  knowledge.write('a.md', 'An apple.');
  knowledge.write('b.md', 'A banana.');
  expect(await knowledge.import()).toMatchObject({ imported: 2 });
  expect(await knowledge.import()).toMatchObject({ imported: 0, unchanged: 2 });
  knowledge.write('a.md', 'An avocado.');
  expect(await knowledge.import({ source: 'other' })).toMatchObject({ imported: 2 });
  expect(await knowledge.import()).toMatchObject({ imported: 1, unchanged: 1 });
  expect(await found('apple')).toEqual([]);
  expect(await found('avocado')).toContain('a.md');
  unlinkSync(join(knowledge.directory, 'b.md'));
  expect(await knowledge.import()).toMatchObject({ unchanged: 1, missing: 1, removed: 0 });
  expect(await found('banana')).toContain('b.md');
  expect(await knowledge.import({ prune: true })).toMatchObject({ unchanged: 1, missing: 0, removed: 1 });
  expect(await found('banana')).toEqual(['other/b.md']);
  // An empty directory is rather the wrong one.
  rmSync(join(knowledge.directory, 'a.md'));
  expect(await knowledge.import({ prune: true })).toMatchObject({ missing: 1, removed: 0 });
});

verifies('knowledge.bad-files', 'damaged, empty, huge, disguised, links, pipes', async () => {
  const { write, directory } = knowledge;
  const at = (path: string) => join(directory, path);
  write('good.md', 'Good.');
  write('changed.pdf', pdfOf([['Before.']]));
  await knowledge.import();
  write('changed.pdf', 'not a PDF any more');
  write('empty.md', '');
  write('blank.html', '<p> <img src=x> </p>');
  write('half.pdf', pdfOf([['Half.']]).subarray(0, 120));
  write('none.pdf', pdfOf([[]]));
  write('zip.docx', zipOf({ 'a.txt': 'no document' }));
  write('half.docx', docxOf('Half', ['x'.repeat(5_000)]).subarray(0, 300));
  write('bomb.docx', zipOf({ 'word/document.xml': Buffer.alloc(140 * 1024 * 1024) }, 10));
  write('binary.txt', Buffer.from(Array.from({ length: 5_000 }, (_, index) => (index * 37) % 256)));
  write('long.txt', 'word '.repeat(1_000_000));
  write('deep.html', `${'<div>'.repeat(100_000)}Deep.`);
  write('quotes.md', `${'> '.repeat(50_000)}Deep.`);
  write('huge.md', '');
  truncateSync(at('huge.md'), 33 * 1024 * 1024);
  symlinkSync('/etc/hostname', at('link.md'));
  symlinkSync('/etc', at('etc'));
  execFileSync('mkfifo', [at('pipe.md')]);
  write('.hidden/secret.md', 'Hidden.');
  write('ignored.bin', 'Ignored.');
  const { failed, ...counts } = await knowledge.import({ prune: true });
  const reasons = Object.fromEntries(failed.map(({ path, reason }) => [path, reason]));
  expect(reasons).toEqual({
    'changed.pdf': 'is not a PDF, or is damaged',
    'empty.md': 'is empty',
    'blank.html': 'has no text',
    'half.pdf': expect.stringMatching(/damaged|no text/) as unknown,
    'none.pdf': 'has no text: run OCR on a scan first',
    'zip.docx': 'is damaged',
    'half.docx': 'is not a Word document',
    'bomb.docx': 'unpacks to more than 134217728 bytes',
    'binary.txt': 'is not text',
    'long.txt': 'has more text than 4194304 characters',
    'quotes.md': 'is damaged',
    'huge.md': 'is larger than 33554432 bytes',
  });
  expect(counts).toMatchObject({ imported: 1, unchanged: 1, removed: 0 });
  expect(await found('Deep.')).toEqual(['deep.html']);
  // What there was of it stays.
  expect(await found('Before.')).toEqual(['changed.pdf']);
});

test('a directory that cannot be listed keeps its documents', async () => {
  knowledge.write('a.md', 'An apple.');
  knowledge.write('closed/b.md', 'A banana.');
  await knowledge.import();
  chmodSync(join(knowledge.directory, 'closed'), 0);
  const { failed, removed } = await knowledge.import({ prune: true });
  chmodSync(join(knowledge.directory, 'closed'), 0o700);
  // Root lists every directory.
  const expected = process.getuid?.() === 0 ? [] : [{ path: 'closed', reason: 'cannot be listed' }];
  expect([failed, removed]).toEqual([expected, 0]);
});

test('passages begin with headings, end with sentences, and leave nothing out', () => {
  const sentence = 'This sentence has some words in it. ';
  const long = sentence.repeat(60).trim();
  const blocks = [
    { text: 'One', heading: true as const },
    { text: long },
    { text: 'Two', heading: true as const },
    { text: '汉字。'.repeat(300) },
  ];
  const passages = splitPassages(blocks);
  expect(
    passages
      .map(({ text }) => text)
      .join(' ')
      .replace(/\s/g, ''),
  ).toBe(
    blocks
      .map(({ text }) => text)
      .join('')
      .replace(/\s/g, ''),
  );
  expect(passages.find(({ text }) => text.startsWith('Two'))?.heading).toBe('Two');
  for (const { text, heading } of passages) {
    expect(text.length).toBeLessThanOrEqual(1_500);
    expect(text).toMatch(/[.。]$/);
    expect(heading).toBe(/汉/.test(text) ? 'Two' : 'One');
  }
  expect(splitPassages([{ text: '😀'.repeat(2_000) }]).every(({ text }) => !/\p{Surrogate}/u.test(text))).toBe(true);
  expect(splitPassages([])).toEqual([]);
});
