// Tells the gateway that waits for a call how a reaper judged it.
import type { Channels } from '#libs/backing/channels.js';
import { channelNames } from '#libs/schemas/tool-job.js';
import type { ReapedCall } from './reaper.js';

export function publishReapedCall(channels: Channels): (call: ReapedCall) => void {
  return ({ callId, replyTo, outcome }) => {
    if (replyTo === undefined) return;
    const message = JSON.stringify({ version: 1, replies: [{ kind: 'outcome', callId, outcome }] });
    // Lost is harmless: the gateway asks the journal as well.
    channels.publish(channelNames.replies(replyTo), message).catch(() => undefined);
  };
}
