// Calls that ran here have ids of their own kind in this API, so that a posted history that shows them is never taken
// for one with calls of the caller.

const ours = 'call_';
const shown = 'mcptoolu_';

export const toShownCallId = (id: string): string => (id.startsWith(ours) ? shown + id.slice(ours.length) : id);
