// Scripts for upstreams: what a model that follows a plan would say.
import type { ReceivedRequest, Script, ScriptedAnswer } from './scripted-upstream.js';
import type { JsonObject } from '#libs/schemas/json.js';

/** The messages of a request to the upstream. */
export function messagesOf(request: ReceivedRequest): JsonObject[] {
  return request.body['messages'] as JsonObject[];
}

/** The rounds of a turn, identified by the number of assistant messages after the last user message. */
export function rounds(...answers: (ScriptedAnswer | ((request: ReceivedRequest) => ScriptedAnswer))[]): Script {
  return (request) => {
    const messages = messagesOf(request);
    const lastUser = messages.findLastIndex((message) => message['role'] === 'user');
    const round = messages.slice(lastUser).filter((message) => message['role'] === 'assistant').length;
    const answer = answers[Math.min(round, answers.length - 1)]!;
    return typeof answer === 'function' ? answer(request) : answer;
  };
}

export const functionTool = (name: string, parameters: JsonObject = { type: 'object' }): JsonObject => ({
  type: 'function',
  function: { name, parameters },
});

export const workspaceTools: JsonObject = { type: 'mcp', server_label: 'workspace' };

export interface Completion {
  id: string;
  model: string;
  choices: {
    finish_reason: string;
    message: {
      role: string;
      content: string | null;
      reasoning_content?: string;
      tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
    };
  }[];
  usage: JsonObject;
  tool_execution?: {
    executed: boolean;
    tools_called: string[];
    session_id: string;
    rounds: number;
    stopped_by: string | null;
    calls: ({ id: string; name: string; success: boolean } & JsonObject)[];
  };
  warnings?: { message: string; param?: string }[];
  error?: { message: string; type: string; code: string; param?: string; request_id: string };
}

export async function post(url: string, path: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Completion };
}

/** A turn in its own session, identified by its name. */
export const turnOf = (name: string) => ({
  messages: [{ role: 'user', content: name }],
  tools: [workspaceTools],
  session_id: name,
});

/** Writes its name into its session twice, then answers. */
export function effects(request: ReceivedRequest): ScriptedAnswer {
  const messages = messagesOf(request);
  const name = messages[0]!['content'] as string;
  const round = messages.filter((message) => message['role'] === 'assistant').length;
  if (round >= 2) return { text: `done ${name}` };
  const args = { path: 'effects.txt', content: `${round}\n`, append: true };
  return { toolCalls: [{ id: 'call_0', name: 'write_file', arguments: args }] };
}
