import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Channels } from '#libs/backing/channels.js';
import { silentLogger } from '#libs/logging/logger.js';
import { toolReplyMessageSchema, type ToolReply } from '#libs/schemas/tool-job.js';
import { ReplySender } from './reply-sender.js';

class RecordedChannels implements Channels {
  readonly maxMessageBytes = 1_000;
  readonly sent: { channel: string; replies: ToolReply[] }[] = [];
  publish(channel: string, message: string): Promise<void> {
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(this.maxMessageBytes);
    this.sent.push({ channel, replies: toolReplyMessageSchema.parse(JSON.parse(message)).replies as ToolReply[] });
    return Promise.resolve();
  }
  subscribe = () => Promise.resolve(() => Promise.resolve());
  onReconnect = () => () => undefined;
  close = () => Promise.resolve();
}

const outcome = (callId: string, text: string): ToolReply => ({
  kind: 'outcome',
  callId,
  outcome: { state: 'completed', blocks: [{ type: 'text', text }], durationMs: 1 },
});

test('the replies of one tick go in one message a gateway, in order', async () => {
  const channels = new RecordedChannels();
  const sender = new ReplySender(channels, silentLogger);
  sender.send('g1', { kind: 'started', callId: 'a', worker: 'w' });
  sender.send('g2', { kind: 'started', callId: 'b', worker: 'w' });
  sender.send('g1', outcome('a', 'small'));
  await sender.settle();
  expect(channels.sent.map(({ channel, replies }) => [channel, replies.map(({ kind }) => kind)])).toEqual([
    ['replies:g1', ['started', 'outcome']],
    ['replies:g2', ['started']],
  ]);
});

test('that a call has begun goes with what follows soon, and by itself where nothing does', async () => {
  const channels = new RecordedChannels();
  const sender = new ReplySender(channels, silentLogger);
  const kinds = () => channels.sent.map(({ replies }) => replies.map(({ kind }) => kind));
  sender.send('g', { kind: 'started', callId: 'short', worker: 'w' });
  await nextTurn();
  expect(kinds()).toEqual([]);
  sender.send('g', outcome('short', 'done'));
  await nextTurn();
  expect(kinds()).toEqual([['started', 'outcome']]);
  sender.send('g', { kind: 'started', callId: 'long', worker: 'w' });
  await expect.poll(kinds).toEqual([['started', 'outcome'], ['started']]);
});

test('messages stay within what a channel carries; what is too large goes by reference', async () => {
  const channels = new RecordedChannels();
  const sender = new ReplySender(channels, silentLogger);
  for (let at = 0; at < 20; at += 1) sender.send('g', outcome(`c${at}`, 'é'.repeat(100)));
  sender.send('g', outcome('large', 'x'.repeat(5_000)));
  sender.send('g', { kind: 'progress', callId: 'p', progress: 1, message: 'm'.repeat(5_000) });
  await sender.settle();
  const replies = channels.sent.flatMap((each) => each.replies);
  expect(channels.sent.length).toBeGreaterThan(3);
  expect(replies).toHaveLength(22);
  expect(replies.at(-2)).toEqual({ kind: 'outcome', callId: 'large' });
  expect(replies.at(-1)).toEqual({ kind: 'progress', callId: 'p', progress: 1 });
});
