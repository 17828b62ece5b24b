// Test support: a model that calls tools according to the user's message and reports their results, and these tools.
import type { ReceivedRequest, ScriptedAnswer } from './scripted-upstream.js';
import type { JudgeTool } from './chat-judge.js';

interface AskedMessage {
  role: string;
  content: string;
  tool_calls?: { id: string; function: { name: string } }[];
  tool_call_id?: string;
}

/** The model's answer, depending on the user's message and the state of the conversation. */
export function toolScript(request: ReceivedRequest): ScriptedAnswer {
  const messages = request.body['messages'] as unknown as AskedMessage[];
  const asked = messages.find((message) => message.role === 'user')!.content;
  const calls = firstCalls[asked];
  if (calls === undefined) return { text: ['Hel', 'lo'] };
  if (messages.at(-1)!.role !== 'tool') return { text: ['Looking', '.'], toolCalls: calls };
  return { text: ['Got ', reported(messages)] };
}

const lookup = { id: 'upstream_1', name: 'lookup', arguments: { key: 'höhe' } };
const clock = { id: 'upstream_0', name: 'get_time', arguments: { offset_ms: 0 } };
const firstCalls: Record<string, (typeof lookup | typeof clock)[]> = {
  'a server tool': [clock],
  'a client tool': [lookup],
  'two client tools': [lookup, { ...lookup, id: 'upstream_2', arguments: { key: 'b' } }],
  'a mixed turn': [clock, lookup],
};

/** Checks that every call was answered, in order. The clock's answer may have any content. */
function reported(messages: AskedMessage[]): string {
  const calls = messages.flatMap((message) => message.tool_calls ?? []);
  const results = messages.filter((message) => message.role === 'tool');
  return calls
    .map(({ id, function: { name } }, at) => {
      if (results[at]?.tool_call_id !== id) return `no answer to ${name}`;
      return name === 'get_time' ? 'time' : results[at].content;
    })
    .join(' and ');
}

/** The first call of the client's tool, as its SDK reports it. */
export const lookedUp = { name: lookup.name, arguments: lookup.arguments };

const parameters = { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] };
export const clientTool: JudgeTool = {
  name: 'lookup',
  parameters,
  run: (args) => `value of ${(args as { key: string }).key}`,
};
export const serverTool: JudgeTool = {
  name: 'get_time',
  parameters: { type: 'object', properties: { offset_ms: { type: 'number' } } },
  run: () => {
    throw new Error('the client was made to run a tool of the server');
  },
};
