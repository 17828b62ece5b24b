// Instances that take no more calls, until they have ended completely. Slow ones block nothing, unless there are as many
// of them as the server may have instances.
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import type { ConfiguredServer } from '../servers/configured-server.js';
import { closeReasons, type CloseReason, type PoolEvents } from './pool-events.js';
import { logInstance, type Instance } from './pool-instance.js';

export class ClosingInstances {
  private readonly closing = new Map<Instance, Promise<void>>();

  constructor(
    private readonly logger: Logger,
    private readonly events: Pick<PoolEvents, 'onClosed'>,
  ) {}

  get all(): readonly Instance[] {
    return [...this.closing.keys()];
  }

  /** Further calls for the same instance do nothing. */
  close(instance: Instance, reason: CloseReason): void {
    if (instance.closing !== undefined) return;
    instance.closing = reason;
    if (!instance.connected) instance.start.abort(new AppError('tool_unavailable', closeReasons[reason]));
    const closed = this.closeOne(instance, reason).finally(() => this.closing.delete(instance));
    this.closing.set(instance, closed);
  }

  /** Undefined if fewer instances are ending than the server may have; otherwise resolves when the first has ended. */
  untilFewer({ name, maxInstances }: ConfiguredServer): Promise<void> | undefined {
    const same = this.all.filter(({ server }) => server.name === name);
    return same.length <= maxInstances ? undefined : this.closing.get(same[0]!);
  }

  async ended(belongs: (instance: Instance) => boolean): Promise<void> {
    const waited = [...this.closing].filter(([instance]) => belongs(instance));
    await Promise.all(waited.map(([, closed]) => closed));
  }

  private async closeOne(instance: Instance, reason: CloseReason): Promise<void> {
    const connection = await instance.connection.catch(() => undefined);
    if (connection === undefined) return;
    this.events.onClosed(instance.server.name, reason);
    try {
      await connection.close();
      // The end of an instance by itself is logged elsewhere, with its cause.
      if (reason !== 'ended') logInstance(this.logger, instance, 'tool server closed', closeReasons[reason]);
    } catch (error) {
      this.logger.warn({ error, metadata: { server: instance.server.name } }, 'a tool server did not close cleanly');
    }
  }
}
