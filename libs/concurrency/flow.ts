/**
 * What a reader answers to what is pushed to it: nothing for more at once, `enough` to be given no more, a promise to be
 * given no more until it resolves.
 */
export type Flow = undefined | 'enough' | Promise<'enough' | undefined>;
