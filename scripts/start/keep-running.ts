// Keeps one part running: starts it again when it ends, and says so; gives up after too many short lives in a row.
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '#libs/logging/logger.js';
import { Unrecoverable, type Life, type Part } from './part.js';
import { RestartPolicy, type RestartLimits } from './restart-policy.js';

export interface KeptPart {
  /** Resolves when it serves for the first time; rejects when it was given up or stopped before. */
  ready: Promise<void>;
  /** Rejects when the part is given up. Otherwise it stays pending, or resolves after `stop`. */
  over: Promise<void>;
  /** Ends this life in order and starts the next: its surroundings have changed. */
  renew(): Promise<void>;
  stop(): Promise<void>;
  /** One that is only starting reads its configuration anyway. */
  reload(): void;
}

export function keepRunning(part: Part, logger: Logger, limits: RestartLimits): KeptPart {
  const stopping = new AbortController();
  const policy = new RestartPolicy(limits);
  let life: Life | undefined;
  let renewing = false;
  let served: () => void = () => undefined;
  const firstService = new Promise<void>((resolve) => {
    served = resolve;
  });

  async function liveOnce(): Promise<string> {
    try {
      life = await part.start(stopping.signal);
    } catch (error) {
      if (error instanceof Unrecoverable) throw error;
      return `did not start: ${error instanceof Error ? error.message : String(error)}`;
    }
    served();
    try {
      return await life.ended;
    } finally {
      life = undefined;
    }
  }

  async function keep(): Promise<void> {
    for (;;) {
      const startedAt = performance.now();
      const how = await liveOnce();
      if (stopping.signal.aborted) return;
      if (renewing) {
        renewing = false;
        continue;
      }
      const waitMs = policy.afterEnd(performance.now() - startedAt);
      if (waitMs === undefined) {
        throw new Error(`${part.name} ended ${limits.maxFailures} times in a row; the last time it ${how}`);
      }
      logger.warn({}, `${part.name} ${how}; starting it again in ${waitMs} ms`);
      await delay(waitMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
    }
  }

  const over = keep();
  const ready = Promise.race([
    firstService,
    over.then(() => {
      throw new Error(`${part.name} was stopped before it was ready`);
    }),
  ]);
  // Whoever waits for either hears of it; a rejection that nobody waits for yet is no crash.
  over.catch(() => undefined);
  ready.catch(() => undefined);
  return {
    ready,
    over,
    reload: () => life?.reload?.(),
    renew: async () => {
      if (life === undefined) return;
      renewing = true;
      await life.stop();
    },
    stop: async () => {
      stopping.abort(new Error('stopping'));
      await life?.stop();
      await over.catch(() => undefined);
    },
  };
}
