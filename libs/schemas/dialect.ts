// The chat API that a turn arrived by, which decides the form of its answer. The run store and the metrics name it too.

/** `openai` and `events`: chat completions, strict and with typed events. */
export const dialects = ['openai', 'events', 'anthropic', 'responses'] as const;
export type Dialect = (typeof dialects)[number];

export const isDialect = (value: string): value is Dialect => (dialects as readonly string[]).includes(value);
