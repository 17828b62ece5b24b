/**
 * Whole epoch ms by a clock that nobody sets: this machine's as it was when the process began, counted on from there. For
 * deadlines and ages inside of one process. Not for what others compare: their clock may have begun an hour apart.
 */
export const steadyNow = (): number => Math.floor(performance.timeOrigin + performance.now());
