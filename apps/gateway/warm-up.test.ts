import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { register } from 'prom-client';
import { afterEach, expect, vi } from 'vitest';
import { configSchema } from '#libs/config/schema.js';
import { createMetrics } from '#libs/metrics/metrics.js';
import { verifies } from '../../test/verifies.js';
import { ChatService } from './chat/chat-service.js';
import { TurnState } from './chat/turn-state.js';
import { warmUp } from './warm-up.js';

afterEach(() => vi.restoreAllMocks());

verifies(
  'operations.warm-up-leaves-nothing',
  'chats and loops, whole and streamed, through to their ends',
  async () => {
    const metrics = createMetrics({ processMetrics: false });
    const before = await metrics.registry.metrics();
    const said = vi.spyOn(process.stdout, 'write');
    let sockets = 0;
    const onSocket = () => void (sockets += 1);
    subscribe('net.client.socket', onSocket);
    const [starts, tools] = [vi.spyOn(ChatService.prototype, 'start'), vi.spyOn(TurnState.prototype, 'addEnded')];
    try {
      await warmUp(configSchema.parse({}), new AbortController().signal);
    } finally {
      unsubscribe('net.client.socket', onSocket);
    }
    expect(starts).toHaveBeenCalledTimes(8);
    expect(tools).toHaveBeenCalledTimes(4);
    for (const [call] of tools.mock.calls) expect(call.outcome.state).toBe('completed');
    expect(sockets).toBe(0);
    expect(said).not.toHaveBeenCalled();
    expect(await metrics.registry.metrics()).toBe(before);
    expect(register.getMetricsAsArray()).toEqual([]);
  },
);

verifies('operations.warm-up-leaves-nothing', 'a process that stops meanwhile', async () => {
  const starts = vi.spyOn(ChatService.prototype, 'start');
  await warmUp(configSchema.parse({}), AbortSignal.abort());
  expect(starts).not.toHaveBeenCalled();
});
