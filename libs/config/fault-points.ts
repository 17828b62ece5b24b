// Named points where tests can kill a process, to prove what survives. Does nothing outside of tests.

/** Points in a worker, around one call. */
export type WorkerFaultPoint =
  | 'before-dispatch'
  | 'before-park'
  | 'after-dispatch'
  | 'after-effect'
  | 'after-outcome'
  | 'before-reply'
  | 'before-ack';

/** Points in a gateway, around one turn, and around the row of a connection. */
export type GatewayFaultPoint =
  'after-plan' | 'after-add' | 'before-round' | 'before-end' | 'before-answer' | 'before-connect' | 'after-connect';

export type FaultPoint = WorkerFaultPoint | GatewayFaultPoint;

export interface Faults {
  /** Resolves at once, or never if the process is killed. */
  at(point: FaultPoint): Promise<void>;
}

/**
 * With `SIGNALBOX_FAULTS=after-effect`, or `after-effect:2` for the second time, this process kills itself at that point.
 * Read only if `NODE_ENV` is `test`; undefined where it is not set.
 */
export function readFaults(environment: NodeJS.ProcessEnv = process.env): Faults | undefined {
  const text = environment['SIGNALBOX_FAULTS'];
  if (environment['NODE_ENV'] !== 'test' || text === undefined || text === '') return undefined;
  const [point, nth = '1'] = text.split(':');
  let left = Number(nth);
  return {
    at: async (reached) => {
      if (reached !== point) return;
      left -= 1;
      if (left > 0) return;
      process.kill(process.pid, 'SIGKILL');
      // Nothing may happen until the signal arrives.
      await new Promise(() => undefined);
    },
  };
}
