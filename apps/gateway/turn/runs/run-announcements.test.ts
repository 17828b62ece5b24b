import { once, EventEmitter } from 'node:events';
import { beforeEach, expect, test } from 'vitest';
import { channelNames } from '#libs/schemas/tool-job.js';
import { RunAnnouncements } from './run-announcements.js';

/** The announced runs, in order. */
let sent: string[];
const published = new EventEmitter();
const channels = {
  async publish(channel: string): Promise<void> {
    sent.push(channel);
    published.emit(channel);
    if (channel === channelNames.runEvents('lost')) throw new Error('the store is away');
  },
};
const of = (...runs: string[]) => runs.map((run) => channelNames.runEvents(run));
const reportOf = (run: string) => once(published, channelNames.runEvents(run), { signal: AbortSignal.timeout(5_000) });

beforeEach(() => {
  sent = [];
});

test('what happens within a moment is announced once a run', async () => {
  const announcements = new RunAnnouncements(channels);
  const second = reportOf('b');
  for (const run of ['a', 'b', 'a', 'a']) announcements.announce(run);
  expect(sent).toEqual([]);
  await second;
  expect(sent).toEqual(of('a', 'b'));
});

test('what happens later is announced anew, also after one that was lost', async () => {
  const announcements = new RunAnnouncements(channels);
  for (const run of ['lost', 'a', 'a']) {
    const next = reportOf(run);
    announcements.announce(run);
    await next;
  }
  expect(sent).toEqual(of('lost', 'a', 'a'));
});

test('closing announces what still waits at once, and only once', async () => {
  const announcements = new RunAnnouncements(channels);
  announcements.announce('a');
  announcements.close();
  expect(sent).toEqual(of('a'));
  announcements.close();
  const last = reportOf('b');
  announcements.announce('b');
  await last;
  expect(sent).toEqual(of('a', 'b'));
});
