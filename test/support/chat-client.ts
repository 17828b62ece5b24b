// Test support: requests of chat clients, and the shape of the answers.
import { expect } from 'vitest';
import { postJson } from './read-sse.js';

export interface ShownCall {
  id: string;
  type: string;
  function: { name: string; arguments: string };
}

export interface Completion {
  id: string;
  object: string;
  model: string;
  choices: {
    index: number;
    message: { role: string; content: string | null; tool_calls?: ShownCall[] };
    finish_reason: string;
  }[];
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
  tool_execution?: {
    executed: boolean;
    tools_called: string[];
    session_id: string;
    workspace_path: string;
    rounds: number;
    calls: { name: string; success: boolean }[];
  };
}

export const user = (content: string) => ({ role: 'user' as const, content });

const pathParameters = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
export const functionTool = (
  name: string,
  description: string,
  parameters: Record<string, unknown> = pathParameters,
) => ({
  type: 'function' as const,
  function: { name, description, parameters },
});

/** Sends a chat that must be answered with 200. */
export async function completeChat(origin: string, body: object, path = '/api/chat/completions'): Promise<Completion> {
  const answer = await postJson(`${origin}${path}`, body);
  const read = (await answer.json()) as Completion;
  expect(answer.status, JSON.stringify(read)).toBe(200);
  return read;
}

export async function putFile(
  origin: string,
  file: { sessionId: string; path: string; content: string },
): Promise<void> {
  const url = `${origin}/api/sessions/${file.sessionId}/files/${file.path}`;
  const answer = await fetch(url, { method: 'PUT', body: file.content });
  expect([200, 201]).toContain(answer.status);
}

/** The exact members of the answer to a plain chat. */
export const plainCompletion = {
  id: expect.stringMatching(/^chatcmpl-/),
  object: 'chat.completion',
  created: expect.any(Number),
  model: expect.any(String),
  choices: [{ index: 0, message: { role: 'assistant', content: expect.stringMatching(/./) }, finish_reason: 'stop' }],
  usage: {
    prompt_tokens: expect.any(Number),
    completion_tokens: expect.any(Number),
    total_tokens: expect.any(Number),
  },
};
