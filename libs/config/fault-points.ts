// Named points at which a test may kill a process of ours, to prove what survives. Does nothing outside of tests.
/** Of a worker, around one call. */
export type WorkerFaultPoint =
  'before-dispatch' | 'after-dispatch' | 'after-effect' | 'after-outcome' | 'before-reply' | 'before-ack';

/** Of a gateway, around one turn. */
export type GatewayFaultPoint = 'after-plan' | 'after-add' | 'before-round' | 'before-end' | 'before-answer';

export type FaultPoint = WorkerFaultPoint | GatewayFaultPoint;

export interface Faults {
  /** Resolves at once, or never: the process is gone. */
  at(point: FaultPoint): Promise<void>;
}

export const noFaults: Faults = { at: () => Promise.resolve() };

/** The same object, some of its members replaced: how a process that is to be killed gets its points. */
export function replaceMembers<T extends object>(target: T, members: Partial<T>): T {
  return new Proxy(target, {
    get(_, name) {
      const found: unknown = name in members ? members[name as keyof T] : Reflect.get(target, name);
      return typeof found === 'function' ? (found as () => unknown).bind(target) : found;
    },
  });
}

/**
 * `SIGNALBOX_FAULTS=after-effect` or `after-effect:2` (the second time it is reached): this process kills itself there.
 * Read only when `NODE_ENV` is `test`.
 */
export function readFaults(environment: NodeJS.ProcessEnv = process.env): Faults {
  const wish = environment['SIGNALBOX_FAULTS'];
  if (environment['NODE_ENV'] !== 'test' || wish === undefined || wish === '') return noFaults;
  const [point, nth = '1'] = wish.split(':');
  let left = Number(nth);
  return {
    at: async (reached) => {
      if (reached !== point) return;
      left -= 1;
      if (left > 0) return;
      process.kill(process.pid, 'SIGKILL');
      // The signal is on its way: nothing may happen any more.
      await new Promise(() => undefined);
    },
  };
}
