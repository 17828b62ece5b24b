import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { failure, json, useFilesApp } from '../../../../test/files-app.js';
import { verifies } from '../../../../test/verifies.js';

const files = useFilesApp();
const { api, put, hostOf } = files;

verifies('tools.files-http', 'PUT makes the session, GET and HEAD read, DELETE removes', async () => {
  expect(await failure(await api(`/${files.id}/files/test.txt`))).toEqual([404, 'session_not_found']);
  const made = await put('test.txt', 'hello');
  expect([made.status, await json(made)]).toMatchObject([201, { path: 'test.txt', size: 5, created: true }]);
  expect((await put('test.txt', 'hello!')).status).toBe(200);
  const read = await api(`/${files.id}/files/test.txt`);
  expect([read.headers.get('content-type'), read.headers.get('content-length'), await read.text()]).toEqual([
    'text/plain; charset=utf-8',
    '6',
    'hello!',
  ]);
  const head = await api(`/${files.id}/files/test.txt`, { method: 'HEAD' });
  expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '6', '']);
  expect((await api(`/${files.id}/files/test.txt`, { method: 'DELETE' })).status).toBe(204);
  expect(await failure(await api(`/${files.id}/files/test.txt`))).toEqual([404, 'file_not_found']);
  expect(await failure(await api(`/${files.id}/files/test.txt`, { method: 'DELETE' }))).toEqual([
    404,
    'file_not_found',
  ]);
});

describe('bodies as they are', () => {
  for (const type of [
    'application/json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'x/y',
    '',
  ]) {
    verifies('tools.files-http', `Content-Type '${type}'`, async () => {
      const body = Buffer.from('{"broken": \u0000 ');
      expect((await put('dir/file.bin', body, type === '' ? {} : { 'content-type': type })).status).toBe(201);
      expect(readFileSync(join(await hostOf(), 'dir/file.bin'))).toEqual(body);
    });
  }

  test('an empty body, chunked or not', async () => {
    expect((await put('empty', '')).status).toBe(201);
    const chunked = { method: 'PUT', body: Readable.toWeb(Readable.from([])), duplex: 'half' as const };
    expect((await api(`/${files.id}/files/chunked`, chunked)).status).toBe(201);
    expect(await (await api(`/${files.id}/files/empty`)).text()).toBe('');
  });

  test('other routes keep their parser and limit', async () => {
    const type = { 'content-type': 'application/vnd.signalbox.file' };
    const answer = await api('', { method: 'POST', body: '{}', headers: type });
    expect(answer.status).toBe(415);
  });
});

verifies('tools.files-conditional', 'ETag, If-None-Match, If-Match', async () => {
  const first = (await put('x', 'one')).headers.get('etag')!;
  const get = (headers: Record<string, string>) => api(`/${files.id}/files/x`, { headers });
  expect(first).toMatch(/^"[^"]+"$/);
  expect((await get({ 'if-none-match': first })).status).toBe(304);
  expect((await get({ 'if-none-match': `"other", W/${first}` })).status).toBe(304);
  const second = (await put('x', 'two', { 'if-match': first })).headers.get('etag')!;
  expect(second).not.toBe(first);
  expect((await get({ 'if-none-match': first })).status).toBe(200);
  expect(await failure(await put('x', 'three', { 'if-match': first }))).toEqual([412, 'precondition_failed']);
  expect(await failure(await put('x', 'three', { 'if-none-match': '*' }))).toEqual([412, 'precondition_failed']);
  expect(await failure(await put('new', 'x', { 'if-match': '*' }))).toEqual([412, 'precondition_failed']);
  expect((await put('new', 'x', { 'if-none-match': '*' })).status).toBe(201);
  const stale = { method: 'DELETE', headers: { 'if-match': first } };
  expect(await failure(await api(`/${files.id}/files/x`, stale))).toEqual([412, 'precondition_failed']);
  expect(await (await get({})).text()).toBe('two');
});

verifies('tools.files-conditional', 'reads of one version only, and dates', async () => {
  const etag = (await put('x', 'one')).headers.get('etag')!;
  // Half a second more than the precision of a date.
  utimesSync(join(await hostOf(), 'x'), 784_111_777.5, 784_111_777.5);
  const changed = (await api(`/${files.id}/files/x`)).headers.get('etag')!;
  const [then, before] = ['Sun, 06 Nov 1994 08:49:37 GMT', 'Sun, 06 Nov 1994 08:49:36 GMT'];
  const table: [headers: Record<string, string>, status: number][] = [
    [{ 'if-match': changed }, 200],
    [{ 'if-match': '*' }, 200],
    [{ 'if-match': etag }, 412],
    [{ 'if-match': `W/${changed}` }, 412],
    [{ 'if-unmodified-since': then }, 200],
    [{ 'if-unmodified-since': before }, 412],
    [{ 'if-unmodified-since': before, 'if-match': changed }, 200],
    [{ 'if-modified-since': then }, 304],
    [{ 'if-modified-since': 'Sunday, 06-Nov-94 08:49:37 GMT' }, 304],
    [{ 'if-modified-since': 'Sun Nov  6 08:49:37 1994' }, 304],
    [{ 'if-modified-since': before }, 200],
    [{ 'if-modified-since': '9' }, 200],
    [{ 'if-modified-since': 'yesterday' }, 200],
    [{ 'if-modified-since': then, 'if-none-match': etag }, 200],
    [{ 'if-match': changed, 'if-none-match': changed }, 304],
    [{ 'if-match': etag, 'if-none-match': etag }, 412],
  ];
  for (const [headers, status] of table) {
    for (const method of ['GET', 'HEAD']) {
      const answer = await api(`/${files.id}/files/x`, { headers, method });
      expect([method, headers, answer.status, (await answer.text()).length > 0]).toEqual([
        method,
        headers,
        status,
        status !== 304 && method === 'GET',
      ]);
    }
  }
  const since = { 'if-unmodified-since': before };
  expect(await failure(await put('x', 'two', since))).toEqual([412, 'precondition_failed']);
  expect(await failure(await put('new', 'two', since))).toEqual([412, 'precondition_failed']);
  expect((await put('x', 'two', { 'if-unmodified-since': then })).status).toBe(200);
});

verifies('tools.files-conditional', 'of many writers with one If-Match exactly one wins', async () => {
  const etag = (await put('x', 'base')).headers.get('etag')!;
  const answers = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((body) => put('x', body, { 'if-match': etag })));
  expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 412, 412, 412, 412]);
});

describe('ranges', () => {
  const table: [range: string, status: number, body: string, contentRange: string | null][] = [
    ['bytes=0-1', 206, '01', 'bytes 0-1/10'],
    ['bytes=8-', 206, '89', 'bytes 8-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=5-99', 206, '56789', 'bytes 5-9/10'],
    ['bytes=-99', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=0-1,4-5', 200, '0123456789', null],
    ['lines=0-1', 200, '0123456789', null],
    ['bytes=5-2', 200, '0123456789', null],
    ['bytes=-', 200, '0123456789', null],
  ];
  for (const [range, status, body, contentRange] of table) {
    verifies('tools.files-ranges', range, async () => {
      await put('x', '0123456789');
      const answer = await api(`/${files.id}/files/x`, { headers: { range } });
      expect([answer.status, await answer.text(), answer.headers.get('content-range')]).toEqual([
        status,
        body,
        contentRange,
      ]);
    });
  }

  verifies('tools.files-ranges', 'none that there is, and If-Range', async () => {
    const etag = (await put('x', '0123456789')).headers.get('etag')!;
    const beyond = await api(`/${files.id}/files/x`, { headers: { range: 'bytes=10-' } });
    expect([beyond.headers.get('content-range'), ...(await failure(beyond))]).toEqual([
      'bytes */10',
      416,
      'range_not_satisfiable',
    ]);
    const get = (ifRange: string) =>
      api(`/${files.id}/files/x`, { headers: { range: 'bytes=0-1', 'if-range': ifRange } });
    expect([(await get(etag)).status, (await get('"old"')).status]).toEqual([206, 200]);
    expect((await get((await get(etag)).headers.get('last-modified')!)).status).toBe(200);
  });

  verifies('tools.files-ranges', 'of GET only, said by both', async () => {
    await put('x', '0123456789');
    const head = await api(`/${files.id}/files/x`, { method: 'HEAD', headers: { range: 'bytes=0-1' } });
    expect([head.status, head.headers.get('content-length'), head.headers.get('accept-ranges')]).toEqual([
      200,
      '10',
      'bytes',
    ]);
  });
});

verifies('tools.files-safe-to-show', 'nothing runs in the origin of the gateway', async () => {
  for (const name of ['x.html', 'x.SVG', 'x.xhtml', 'ü"x.html']) {
    await put(encodeURIComponent(name), '<script>1</script>');
    const { headers } = await api(`/${files.id}/files/${encodeURIComponent(name)}`);
    expect(headers.get('content-disposition')).toMatch(/^attachment; filename="[ -~]+"; filename\*=UTF-8''/);
    expect([headers.get('x-content-type-options'), headers.get('content-security-policy')]).toEqual([
      'nosniff',
      "default-src 'none'; sandbox",
    ]);
  }
});

verifies('tools.files-http', 'as a tar archive', async () => {
  await put('a/b.txt', 'hello');
  const answer = await api(`/${files.id}/files?archive=tar`);
  expect(answer.headers.get('content-type')).toBe('application/x-tar');
  const listing = execFileSync('tar', ['-tf', '-'], { input: Buffer.from(await answer.arrayBuffer()) }).toString();
  expect(listing).toBe('a/\na/b.txt\n');
  expect(await failure(await api(`/${files.id}/files?archive=zip`))).toEqual([400, 'invalid_value']);
});

verifies('tools.workspace-archive', 'deeper than any walk goes: refused, and marked in the listing', async () => {
  await put('a.txt', 'hello');
  mkdirSync(join(await hostOf(), 'd/'.repeat(500)), { recursive: true });
  expect(await json(await api(`/${files.id}/files`))).toMatchObject({ truncated: true });
  expect(await failure(await api(`/${files.id}/files?archive=tar`))).toEqual([413, 'workspace_quota_exceeded']);
  expect((await api(`/${files.id}/files/d?recursive=true`, { method: 'DELETE' })).status).toBe(204);
  expect(await json(await api(`/${files.id}/files`))).toMatchObject({ truncated: false });
  expect((await api(`/${files.id}/files?archive=tar`)).status).toBe(200);
});
