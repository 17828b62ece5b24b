// `npm run bench -- --files`: what a file of 1 GiB costs the gateway in memory on its way in, and out again. The peak is the
// kernel's own (VmHWM), so that nothing between two looks is missed.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { readFileSync, writeFileSync } from 'node:fs';
import type { System } from './system.js';

const megabyte = 1024 * 1024;
const megabytes = 1_024;
const goalMegabytes = 40;
/** The first transfer of a process loads code, whatever its size. */
const warmUpMegabytes = 1;

export const largeFilesSettings = { WORKSPACES_MAX_BYTES: String(2 * 1_024 * megabyte) };

/** Whether both ways stayed within the goal, and the bytes that came back are those that were sent. */
export async function measureLargeFiles({ gateway }: Pick<System, 'gateway'>): Promise<boolean> {
  const url = `${gateway.url}/api/sessions/bench-files/files/large`;
  await download(url, await upload(url, warmUpMegabytes));
  let sent = '';
  const ways: [way: string, run: () => Promise<unknown>][] = [
    ['upload', async () => (sent = await upload(url, megabytes))],
    ['download', () => download(url, sent)],
    ['archive', () => drain(`${gateway.url}/api/sessions/bench-files/files?archive=tar`)],
  ];
  let met = true;
  for (const [way, run] of ways) {
    const before = statusMegabytes(gateway.pid, 'VmRSS');
    // The peak is counted anew from here on: proc_pid_clear_refs(5).
    writeFileSync(`/proc/${gateway.pid}/clear_refs`, '5');
    const startedAt = performance.now();
    await run();
    const seconds = (performance.now() - startedAt) / 1_000;
    const more = statusMegabytes(gateway.pid, 'VmHWM') - before;
    const within = more < goalMegabytes;
    met &&= within;
    console.log(
      `${way} of ${megabytes} MiB: ${more.toFixed(1)} MB more memory at its peak (goal < ${goalMegabytes}: ` +
        `${within ? 'met' : 'missed'}), ${(megabytes / seconds).toFixed(0)} MiB/s`,
    );
  }
  return met;
}

/** Returns the digest of what was sent. */
async function upload(url: string, count: number): Promise<string> {
  const sent = createHash('sha256');
  const put = request(url, { method: 'PUT', headers: { 'content-length': count * megabyte } });
  const answered = once(put, 'response') as Promise<[IncomingMessage]>;
  answered.catch(() => undefined);
  for (let index = 0; index < count; index += 1) {
    const chunk = Buffer.alloc(megabyte, index);
    sent.update(chunk);
    if (!put.write(chunk)) await once(put, 'drain');
  }
  put.end();
  const [answer] = await answered;
  answer.resume();
  if (answer.statusCode! >= 300) throw new Error(`the upload was answered with ${answer.statusCode}`);
  return sent.digest('hex');
}

async function download(url: string, expected: string): Promise<void> {
  const received = createHash('sha256');
  await drain(url, (chunk) => void received.update(chunk));
  if (received.digest('hex') !== expected) throw new Error('other bytes came back than were sent');
}

async function drain(url: string, each: (chunk: Buffer) => void = () => undefined): Promise<void> {
  const get = request(url).end();
  const [answer] = (await once(get, 'response')) as [IncomingMessage];
  if (answer.statusCode !== 200) throw new Error(`the download was answered with ${answer.statusCode}`);
  for await (const chunk of answer) each(chunk as Buffer);
}

function statusMegabytes(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(text)![1]) / 1_024;
}
