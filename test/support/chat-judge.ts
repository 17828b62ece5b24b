// Test support: the common interface of the SDKs that judge the product: their questions, and how they read the answers.
import { inspect } from 'node:util';
import { expect } from 'vitest';

export interface Question {
  /** Including the dialect's path: `http://…/v1`. */
  baseUrl: string;
  /** The last user message, which the scripted upstream follows. */
  content: string;
  tools?: JudgeTool[];
  /** Members of the body that the SDK does not know. */
  extra?: Record<string, unknown>;
}

export interface JudgeTool {
  name: string;
  parameters: Record<string, unknown>;
  /** Called by SDK loops. */
  run: (args: unknown) => string;
}

/** Questions to an address that is only known when they are sent. */
export function questionsTo(url: () => string) {
  return (content: string, more: Pick<Question, 'tools' | 'extra'> = {}): Question => ({
    baseUrl: url(),
    content,
    ...more,
  });
}

export interface Heard {
  text: string;
  /** As the SDK shows them: one per message. */
  finishReasons: string[];
  calls: { name: string; arguments: unknown }[];
  usage: { input: number; output: number } | undefined;
}

export interface Judge {
  name: string;
  /** Sends one request. Throws what the SDK throws, or shows as an error. */
  hear(question: Question): Promise<Heard>;
  /** The SDK's own tool loop, until the model stops calling. */
  converse(question: Question): Promise<string>;
}

/** Adds unknown members for SDKs that only allow that through their `fetch` option. */
export function fetchWith(extra: Record<string, unknown> = {}): typeof fetch {
  return (input, init) => {
    if (typeof init?.body !== 'string') return fetch(input, init);
    const body = JSON.parse(init.body) as { tools?: unknown[] };
    const added = extra['tools'];
    const tools = Array.isArray(added) ? { tools: [...(body.tools ?? []), ...(added as unknown[])] } : {};
    return fetch(input, { ...init, body: JSON.stringify({ ...body, ...extra, ...tools }) });
  };
}

/** Expects the SDK to throw the gateway's error, not one about a malformed answer. */
export async function expectThrown(judge: Pick<Judge, 'hear'>, question: Question, code: string): Promise<void> {
  const heard = await judge.hear(question).then(
    (answer) => ({ answer }),
    (error: unknown) => ({ error }),
  );
  expect(heard, question.content).toHaveProperty('error');
  expect(inspect(heard, { depth: 8 })).toContain(code);
}
