import { randomBytes } from 'node:crypto';
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import iconv from 'iconv-lite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '#libs/logging/logger.js';
import { readErrorCode } from '#libs/mcp-server/call-meta.js';
import { createTestServer, type TestServer } from '#libs/testing/test-server.js';
import { createTestWorkspace, type TestWorkspace } from '../../../test/support/test-workspace.js';
import { verifies } from '../../../test/verifies.js';
import { FetchTool } from './fetch-tool.js';
import { FileTools } from './file-tools.js';
import { SearchTools } from './search-tools.js';
import { createWorkspaceServer } from './workspace-server.js';

const maxTextBytes = 4_096;
const now = 1_767_312_000_000;
const meta = { requestId: 'req_1', userId: 'local', sessionId: 'sess_a', workspaceDirectory: 'dir-a' };

let made: TestWorkspace;
let host: string;
let server: TestServer;

beforeEach(async () => {
  made = await createTestWorkspace({ maxBytes: 10_000_000_000 });
  host = made.host;
  const fetchTool = new FetchTool({ allow: [], maxTextBytes, maxBytes: 1_000, timeoutMs: 1_000 });
  server = await createTestServer([new FileTools(maxTextBytes), new SearchTools(maxTextBytes, () => now), fetchTool], {
    meta,
    openWorkspace: (call) => made.workspaces.workspace({ id: call.sessionId, directory: call.workspaceDirectory }),
  });
});

afterEach(async () => {
  await server.close();
  made.remove();
});

const texts = (result: { content: unknown }) => (result.content as { text: string }[]).map(({ text }) => text);

async function ok(name: string, args: Record<string, unknown> = {}): Promise<string[]> {
  const result = await server.call(name, args);
  expect([texts(result), result.isError]).toEqual([texts(result), undefined]);
  return texts(result);
}

async function fails(name: string, args: Record<string, unknown>): Promise<[string | undefined, string]> {
  const result = await server.call(name, args);
  expect(result.isError).toBe(true);
  expect(texts(result)[0]).not.toContain(made.base);
  return [readErrorCode(result._meta), texts(result)[0]!];
}

verifies('tools.builtin-listed', 'names and truthful annotations', async () => {
  const { tools } = await server.client.listTools();
  const hints = tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint, annotations?.destructiveHint]);
  expect(hints).toEqual([
    ['read_file', true, undefined],
    ['write_file', false, true],
    ['edit_file', false, true],
    ['list_directory', true, undefined],
    ['file_info', true, undefined],
    ['delete_file', false, true],
    ['move_file', false, true],
    ['search_files', true, undefined],
    ['read_result', true, undefined],
    ['get_time', true, undefined],
    ['fetch', false, true],
  ]);
  const built = createWorkspaceServer({
    workspaces: made.workspaces,
    logger: silentLogger,
    maxResultBytes: 262_144,
    fetchAllow: [],
  });
  expect(built.toolNames()).toEqual(tools.map(({ name }) => name));
});

verifies('tools.builtin-files', 'written, read, edited, moved, deleted', async () => {
  await ok('write_file', { path: 'a.txt', content: 'hello' });
  expect(await ok('read_file', { path: 'a.txt' })).toEqual(['hello']);
  await ok('write_file', { path: '/mcp_workspaces/sess_a/a.txt', content: ' world', append: true });
  await ok('edit_file', { path: 'a.txt', old_text: 'world', new_text: '世界' });
  expect(await ok('read_file', { path: 'a.txt' })).toEqual(['hello 世界']);
  await ok('move_file', { source: 'a.txt', destination: 'd/b.txt', create_dirs: true });
  expect(await ok('list_directory')).toEqual(['d/']);
  expect(await ok('list_directory', { recursive: true })).toEqual(['d/\nd/b.txt (12 bytes)']);
  expect(JSON.parse((await ok('file_info', { path: 'd/b.txt' }))[0]!)).toMatchObject({ type: 'file', size: 12 });
  expect((await fails('delete_file', { path: 'd' }))[1]).toContain('not empty');
  await ok('delete_file', { path: 'd', recursive: true });
  expect(await ok('list_directory')).toEqual(['(empty)']);
});

verifies('tools.builtin-files', 'temporary files are the own', async () => {
  mkdirSync(join(host, '.tmp'), { recursive: true });
  writeFileSync(join(host, '.tmp/config.json'), '{"version": "2.3.1"}');
  expect(await ok('read_file', { path: '/tmp/config.json' })).toEqual(['{"version": "2.3.1"}']);
});

describe('failures', () => {
  const table: [string, Record<string, unknown>, string, RegExp][] = [
    ['read_file', { path: 'test.txt' }, 'tool_failed', /File 'test.txt' does not exist/],
    ['read_file', { path: '../x' }, 'path_outside_workspace', /\.\./],
    ['read_file', { path: '/etc/passwd' }, 'path_outside_workspace', /relative/],
    ['read_file', { path: 'x\u0000' }, 'invalid_tool_arguments', /NUL/],
    ['read_file', { path: 'a', encoding: 'klingon' }, 'invalid_tool_arguments', /encoding/],
    ['read_file', { path: 'link' }, 'path_outside_workspace', /symbolic link/],
    ['read_file', { path: '.' }, 'invalid_tool_arguments', /directory/],
    ['read_file', { path: { toString: 1 } }, 'invalid_tool_arguments', /path/],
    ['write_file', { path: 'd/x', content: '' }, 'tool_failed', /create_dirs/],
    ['write_file', { path: 'x', content: '%%%', encoding: 'base64' }, 'invalid_tool_arguments', /base64/],
    ['edit_file', { path: 'twice', old_text: 'a', new_text: 'b' }, 'tool_failed', /2 times/],
    ['edit_file', { path: 'twice', old_text: 'c', new_text: 'b' }, 'tool_failed', /does not occur/],
    ['delete_file', { path: 'nothing' }, 'tool_failed', /does not exist/],
    ['delete_file', { path: '.' }, 'invalid_tool_arguments', /directory/],
    ['move_file', { source: 'twice', destination: 'd/x' }, 'tool_failed', /directory of 'd\/x' .* create_dirs/],
    ['move_file', { source: 'nothing', destination: 'x' }, 'tool_failed', /File 'nothing' does not exist/],
    ['move_file', { source: 'twice', destination: '/etc/x' }, 'path_outside_workspace', /outside/],
    ['search_files', { content: '(a', regex: true }, 'invalid_tool_arguments', /regular expression/],
    ['search_files', {}, 'invalid_tool_arguments', /Set name, content or both/],
    ['get_time', { timezone: 'Mars/Base' }, 'invalid_tool_arguments', /'Mars\/Base'.*IANA name.*\+08:00/],
    ['get_time', { timezone: '+24:00' }, 'invalid_tool_arguments', /time zone/],
    ['get_time', { offset_ms: 1e300 }, 'invalid_tool_arguments', /range/],
    ['read_result', { path: 'twice' }, 'invalid_tool_arguments', /\.results/],
  ];
  for (const [name, args, code, message] of table) {
    verifies('tools.builtin-failures', `${name} ${JSON.stringify(args).slice(0, 60)}`, async () => {
      symlinkSync('/etc/passwd', join(host, 'link'));
      writeFileSync(join(host, 'twice'), 'a a');
      const [gotCode, text] = await fails(name, args);
      expect([gotCode, text]).toEqual([code, expect.stringMatching(message)]);
    });
  }

  verifies('tools.builtin-failures', 'over the quota', async () => {
    truncateSync((writeFileSync(join(host, 'sparse'), ''), join(host, 'sparse')), 2 ** 40);
    expect((await fails('write_file', { path: 'x', content: 'x' }))[0]).toBe('workspace_quota_exceeded');
  });
});

describe('encodings', () => {
  for (const encoding of ['utf-8', 'gbk', 'utf-16le', 'big5', 'latin1', 'ascii']) {
    verifies('tools.builtin-encodings', encoding, async () => {
      const content =
        encoding === 'big5'
          ? '中文內容 text'
          : encoding === 'latin1'
            ? 'café'
            : encoding === 'ascii'
              ? 'plain'
              : '中文内容 text';
      await ok('write_file', { path: 'x', content, encoding });
      expect(readFileSync(join(host, 'x'))).toEqual(iconv.encode(content, encoding));
      expect(await ok('read_file', { path: 'x', encoding })).toEqual([content]);
    });
  }

  verifies('tools.builtin-encodings', 'what cannot be expressed is refused', async () => {
    for (const encoding of ['ascii', 'latin1', 'big5']) {
      const [code, text] = await fails('write_file', { path: 'x', content: '内é', encoding });
      expect([code, text]).toEqual(['invalid_tool_arguments', expect.stringContaining(encoding)]);
    }
  });

  verifies('tools.builtin-encodings', 'base64', async () => {
    const bytes = randomBytes(2_000);
    await ok('write_file', { path: 'x', content: bytes.toString('base64'), encoding: 'base64' });
    expect(readFileSync(join(host, 'x'))).toEqual(bytes);
    expect(await ok('read_file', { path: 'x', encoding: 'base64' })).toEqual([bytes.toString('base64')]);
    expect((await fails('read_file', { path: 'x', encoding: 'utf-8' }))[1]).toContain('base64');
  });

  for (const encoding of ['utf-8', 'gbk', 'base64']) {
    verifies('tools.builtin-large-files', `${encoding} in parts without a broken character`, async () => {
      const whole = '汉字a 🙂'.replace(encoding === 'gbk' ? '🙂' : '', '').repeat(12_000);
      writeFileSync(join(host, 'x'), encoding === 'base64' ? whole : iconv.encode(whole, encoding));
      let text = '';
      const tools = new FileTools(64 * 1024);
      const workspace = made.workspace;
      for (let offset: number | undefined = 0; offset !== undefined;) {
        const context = { workspace, signal: new AbortController().signal } as never;
        const { content } = await tools.readFile({ path: 'x', encoding, offset }, context);
        text += encoding === 'base64' ? Buffer.from(content[0]!.text, 'base64').toString('latin1') : content[0]!.text;
        const next = /offset (\d+)/.exec(content[1]?.text ?? '');
        offset = next === null ? undefined : Number(next[1]);
      }
      expect(encoding === 'base64' ? Buffer.from(text, 'latin1').toString() : text).toBe(whole);
    });
  }
});

verifies('tools.builtin-large-files', 'a part of 1 GiB in constant memory', async () => {
  const path = join(host, 'large');
  writeFileSync(path, '');
  truncateSync(path, 2 ** 30);
  const file = openSync(path, 'r+');
  writeSync(file, 'needle', 2 ** 29);
  closeSync(file);
  const before = process.memoryUsage().rss;
  expect(await ok('read_file', { path: 'large', offset: 2 ** 29, limit: 6 })).toEqual(['needle']);
  expect(await ok('read_file', { path: 'large', encoding: 'latin1', offset: 2 ** 29, limit: 2 ** 29 })).toHaveLength(2);
  expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
});

describe('search', () => {
  beforeEach(() => {
    mkdirSync(join(host, 'src/deep'), { recursive: true });
    writeFileSync(join(host, 'src/a.ts'), 'one\ntwo needle\nthree');
    writeFileSync(join(host, 'src/deep/b.ts'), 'NEEDLE');
    writeFileSync(join(host, 'c.md'), 'nothing');
    writeFileSync(join(host, 'binary'), Buffer.from('needle\0needle'));
    symlinkSync('/etc', join(host, 'etc'));
  });

  verifies('tools.builtin-search', 'by name', async () => {
    expect((await ok('search_files', { name: '*.ts' }))[0]!.split('\n').sort()).toEqual(['src/a.ts', 'src/deep/b.ts']);
    expect(await ok('search_files', { name: 'src/*.ts' })).toEqual(['src/a.ts']);
    expect(await ok('search_files', { name: '**/*.{md,txt}' })).toEqual(['c.md']);
    expect(await ok('search_files', { name: 'passwd' })).toEqual(['Nothing found']);
  });

  verifies('tools.builtin-search', 'by content', async () => {
    expect(await ok('search_files', { content: 'needle' })).toEqual(['src/a.ts:2: two needle']);
    expect(
      (await ok('search_files', { content: 'n.*LE$', regex: true, ignore_case: true }))[0]!.split('\n'),
    ).toHaveLength(2);
  });

  verifies('tools.builtin-search', 'a pattern that would backtrack for ever', async () => {
    writeFileSync(join(host, 'evil'), `${'a'.repeat(20_000)}!`);
    const startedAt = performance.now();
    await ok('search_files', { content: '^(a+)+$', regex: true });
    expect(performance.now() - startedAt).toBeLessThan(3_000);
  });

  test('a kept result is read on and filtered', async () => {
    mkdirSync(join(host, '.results'));
    writeFileSync(join(host, '.results/call_1.txt'), 'first\nsecond match\nthird\n');
    expect(await ok('read_result', { path: '.results/call_1.txt', offset: 6, limit: 6 })).toEqual([
      'second',
      expect.stringContaining('offset 12'),
    ]);
    expect(await ok('read_result', { path: '/mcp_workspaces/sess_a/.results/call_1.txt', grep: 'mat.h' })).toEqual([
      '2: second match',
    ]);
  });
});

verifies('tools.builtin-time', 'shifted, in a zone', async () => {
  const plain = await server.call('get_time', { offset_ms: -86_400_000 });
  expect(texts(plain)).toEqual([String(now - 86_400_000), 'Thursday, 2026-01-01 00:00:00 UTC']);
  expect(plain.structuredContent).toEqual({
    timestamp: now - 86_400_000,
    iso: '2026-01-01T00:00:00.000Z',
    timezone: 'UTC',
  });
  const zones: [string, string][] = [
    ['Asia/Shanghai', '2026-01-02T08:00:00.000+08:00'],
    ['America/New_York', '2026-01-01T19:00:00.000-05:00'],
    ['Asia/Kolkata', '2026-01-02T05:30:00.000+05:30'],
    ['Europe/London', '2026-01-02T00:00:00.000+00:00'],
    ['+05:30', '2026-01-02T05:30:00.000+05:30'],
    ['-0330', '2026-01-01T20:30:00.000-03:30'],
    ['+14', '2026-01-02T14:00:00.000+14:00'],
    ['-00:00', '2026-01-02T00:00:00.000+00:00'],
  ];
  for (const [timezone, iso] of zones) {
    const called = await server.call('get_time', { timezone });
    expect(called.structuredContent).toMatchObject({ timestamp: now, iso });
    const [, day, time, offset] = /^(.*)T(.*)\.000(.*)$/.exec(iso)!;
    const weekday = day === '2026-01-02' ? 'Friday' : 'Thursday';
    expect(texts(called)).toEqual([
      String(now),
      `${weekday}, ${day} ${time} UTC${offset}${timezone.includes('/') ? ` (${timezone})` : ''}`,
    ]);
  }
});

verifies('tools.builtin-cancelled', 'in the middle of a long read and search', async () => {
  truncateSync((writeFileSync(join(host, 'large'), ''), join(host, 'large')), 2 ** 31);
  for (const [name, args] of [
    ['search_files', { content: 'x' }],
    ['read_result', { path: '.results/large', grep: 'x' }],
  ] as const) {
    mkdirSync(join(host, '.results'), { recursive: true });
    writeFileSync(join(host, '.results/large'), 'y\n'.repeat(5_000_000));
    const stop = new AbortController();
    const calling = server.call(name, args, { signal: stop.signal });
    const startedAt = performance.now();
    setImmediate(() => stop.abort());
    await expect(calling).rejects.toThrow();
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  }
});
