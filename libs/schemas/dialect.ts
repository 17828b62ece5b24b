// The dialect of a turn: the chat API of the request, which decides the form of the answer. Run store and metrics have it too.

/** `openai` and `events`: chat completions, strict and with typed events. */
export const dialects = ['openai', 'events', 'anthropic', 'responses'] as const;
export type Dialect = (typeof dialects)[number];

export const isDialect = (value: string): value is Dialect => (dialects as readonly string[]).includes(value);
