import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { failure, megabyte, useFilesApp } from '../../../test/files-app.js';
import { verifies } from '../../../test/verifies.js';

const files = useFilesApp();
const { api, put, hostOf } = files;

verifies(
  'tools.files-streamed',
  '256 MiB both ways in constant memory',
  async () => {
    // The client runs in another process, so that only the server's memory is measured.
    const script = `
      const { request } = require('node:http');
      const { Readable } = require('node:stream');
      const { createHash } = require('node:crypto');
      const sent = createHash('sha256'), received = createHash('sha256');
      const options = { port: ${files.app.port}, path: '/api/sessions/${files.id}/files/large' };
      function* source() {
        for (let i = 0; i < 256; i++) { const chunk = Buffer.alloc(${megabyte}, i); sent.update(chunk); yield chunk; }
      }
      Readable.from(source()).pipe(request({ ...options, method: 'PUT' }, (made) => {
        made.resume().on('end', () => request(options, async (answer) => {
          for await (const chunk of answer) received.update(chunk);
          process.stdout.write(made.statusCode + ' ' + (sent.digest('hex') === received.digest('hex')));
        }).end());
      }));`;
    const before = process.memoryUsage().rss;
    let highest = before;
    const watch = setInterval(() => (highest = Math.max(highest, process.memoryUsage().rss)), 20);
    const client = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    client.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
    await once(client, 'close');
    clearInterval(watch);
    expect(output).toBe('201 true');
    expect(highest - before).toBeLessThan(128 * megabyte);
  },
  60_000,
);

verifies('tools.files-streamed', 'an upload over the quota is refused and leaves nothing', async () => {
  const endless = async function* () {
    for (;;) yield Buffer.alloc(megabyte);
  };
  const chunked = {
    method: 'PUT',
    body: Readable.toWeb(Readable.from(endless())),
    duplex: 'half' as const,
  };
  expect(await failure(await api(`/${files.id}/files/large`, chunked))).toEqual([413, 'workspace_quota_exceeded']);
  expect(readdirSync(await hostOf())).toEqual(['.tmp']);
});

verifies('tools.files-streamed', 'an upload that its client leaves leaves nothing', async () => {
  await put('x', 'before');
  const host = await hostOf();
  const { failures } = files.app;
  const failedBefore = failures.length;
  const stop = new AbortController();
  const source = async function* () {
    yield Buffer.alloc(megabyte);
    while (readdirSync(host).length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    stop.abort();
    await new Promise(() => undefined);
  };
  const init = { method: 'PUT', body: Readable.toWeb(Readable.from(source())), duplex: 'half' as const };
  await expect(api(`/${files.id}/files/x`, { ...init, signal: stop.signal })).rejects.toThrow();
  await expect.poll(() => readdirSync(host)).toEqual(['.tmp', 'x']);
  expect(readFileSync(join(host, 'x'), 'utf8')).toBe('before');
  await expect.poll(() => failures.slice(failedBefore)).toEqual(['cancelled']);
});

test('a reader that leaves closes the file', async () => {
  await put('x', 'x');
  truncateSync(join(await hostOf(), 'x'), 200 * megabyte);
  const open = () => readdirSync('/proc/self/fd').length;
  const before = open();
  const reader = (await api(`/${files.id}/files/x`)).body!.getReader();
  await reader.read();
  await reader.cancel();
  await expect.poll(open).toBeLessThanOrEqual(before + 1);
});

verifies('tools.workspace-archive', 'one that cannot go on is cut, not complete', async () => {
  await put('x', 'x');
  const host = join(await hostOf(), 'x');
  truncateSync(host, 200 * megabyte);
  const open = () => readdirSync('/proc/self/fd').length;
  const before = open();
  const reader = (await api(`/${files.id}/files?archive=tar`)).body!.getReader();
  await reader.read();
  // The rest of the announced bytes is missing.
  truncateSync(host, 0);
  const rest = async () => {
    for (;;) if ((await reader.read()).done) return 'complete';
  };
  await expect(rest()).rejects.toThrow('terminated');
  await expect.poll(open).toBeLessThanOrEqual(before + 1);
});
