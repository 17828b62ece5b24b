// Server calls get Anthropic's id prefix for them, so that in a history they are never taken for the caller's own calls.

const ours = 'call_';
const shown = 'mcptoolu_';

export const toShownCallId = (id: string): string => (id.startsWith(ours) ? shown + id.slice(ours.length) : id);
