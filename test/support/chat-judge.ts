// Test support: what every SDK that judges the product is asked, and what it makes of the answer.
import { inspect } from 'node:util';
import { expect } from 'vitest';

export interface Question {
  /** With the dialect's path: `http://…/v1`. */
  baseUrl: string;
  /** The last user message; the scripted upstream plays by it. */
  content: string;
  tools?: JudgeTool[];
  /** Members of the body that the SDK knows nothing of. */
  extra?: Record<string, unknown>;
}

export interface JudgeTool {
  name: string;
  parameters: Record<string, unknown>;
  /** Called by SDK loops. */
  run: (args: unknown) => string;
}

/** Questions to one address, which is known only when they are asked. */
export function questionsTo(url: () => string) {
  return (content: string, more: Pick<Question, 'tools' | 'extra'> = {}): Question => ({
    baseUrl: url(),
    content,
    ...more,
  });
}

export interface Heard {
  text: string;
  /** As the SDK shows them: one a message. */
  finishReasons: string[];
  calls: { name: string; arguments: unknown }[];
  usage: { input: number; output: number } | undefined;
}

export interface Judge {
  name: string;
  /** One request. Throws what the SDK throws, or shows as an error. */
  hear(question: Question): Promise<Heard>;
  /** The SDK's own tool loop, until the model stops calling. */
  converse(question: Question): Promise<string>;
}

/** SDKs that accept no unknown members get them through their `fetch` option. */
export function fetchWith(extra: Record<string, unknown> = {}): typeof fetch {
  return (input, init) => {
    if (typeof init?.body !== 'string') return fetch(input, init);
    const body = JSON.parse(init.body) as { tools?: unknown[] };
    const added = extra['tools'];
    const tools = Array.isArray(added) ? { tools: [...(body.tools ?? []), ...(added as unknown[])] } : {};
    return fetch(input, { ...init, body: JSON.stringify({ ...body, ...extra, ...tools }) });
  };
}

/** The SDK throws, and what it throws is what the gateway said, not its own confusion about it. */
export async function expectThrown(judge: Pick<Judge, 'hear'>, question: Question, code: string): Promise<void> {
  const heard = await judge.hear(question).then(
    (answer) => ({ answer }),
    (error: unknown) => ({ error }),
  );
  expect(heard, question.content).toHaveProperty('error');
  expect(inspect(heard, { depth: 8 })).toContain(code);
}
