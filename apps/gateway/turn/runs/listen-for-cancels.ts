// Any gateway accepts a request to cancel a run, and forwards the request over the channel of the gateway that owns the run.
import type { Channels } from '#libs/backing/channels.js';
import { jsonObjectOf } from '#libs/schemas/json.js';
import { channelNames } from '#libs/schemas/tool-job.js';
import type { ActiveRuns } from './active-runs.js';

export function cancelElsewhere(channels: Channels, owner: string, runId: string): Promise<void> {
  return channels.publish(channelNames.gateway(owner), JSON.stringify({ version: 1, kind: 'cancel', runId }));
}

/** Returns a function that stops listening. */
export function listenForCancels(
  channels: Channels,
  gatewayId: string,
  activeRuns: ActiveRuns,
): Promise<() => Promise<void>> {
  return channels.subscribe(channelNames.gateway(gatewayId), (message) => {
    // A message of another version is ignored.
    const { kind, runId } = jsonObjectOf(message);
    if (kind === 'cancel' && typeof runId === 'string') activeRuns.cancel(runId);
  });
}
