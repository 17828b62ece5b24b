/**
 * Whole epoch ms of a monotonic clock: the system time at process start plus the time elapsed since. For deadlines and ages
 * within one process. Do not compare across processes: their start times may have been read from different clock settings.
 */
export const steadyNow = (): number => Math.floor(performance.timeOrigin + performance.now());
