// Named points at which a test may kill a process of ours, to prove what survives. Does nothing outside of tests.
export const faultPoints = [
  'before-dispatch',
  'after-dispatch',
  'after-effect',
  'after-outcome',
  'before-reply',
  'before-ack',
] as const;

export type FaultPoint = (typeof faultPoints)[number];

export interface Faults {
  at(point: FaultPoint, callId: string): Promise<void>;
}

export const noFaults: Faults = { at: () => Promise.resolve() };

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
