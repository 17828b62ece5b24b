/** A consumer's response to pushed data: undefined to continue, `enough` to stop, a promise to pause until it resolves. */
export type Flow = undefined | 'enough' | Promise<'enough' | undefined>;
