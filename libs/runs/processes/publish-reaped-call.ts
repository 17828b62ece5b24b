// Notifies the gateway that waits for a call how a reaper ended it.
import type { Channels } from '#libs/backing/channels.js';
import { channelNames } from '#libs/schemas/tool-job.js';
import type { ReapedCall } from './reaper.js';

export function publishReapedCall(channels: Channels): (call: ReapedCall) => void {
  return ({ callId, replyTo, outcome }) => {
    if (replyTo === undefined) return;
    const message = JSON.stringify({ version: 1, replies: [{ kind: 'outcome', callId, outcome }] });
    // A lost message is harmless: the gateway also reads the journal.
    channels.publish(channelNames.replies(replyTo), message).catch(() => undefined);
  };
}
