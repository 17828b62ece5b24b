// Test support: an upstream that breaks off in the middle of its answer, in every possible way.
import type { ScriptedChunk } from './scripted-answer.js';
import type { ReceivedRequest, ScriptedAnswer } from './scripted-upstream.js';
import { toolScript } from './tool-script.js';

const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: 'chatcmpl-cut',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'scripted',
  choices: [{ index: 0, delta, finish_reason }],
});
const begun: ScriptedChunk[] = [chunk({ role: 'assistant', content: 'It be' }), chunk({ content: 'gan' })];
const halfCall: ScriptedChunk[] = [
  ...begun,
  chunk({ tool_calls: [{ index: 0, id: 'u1', type: 'function', function: { name: 'get_time', arguments: '' } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] }),
];

/** The broken answer, and the error code that its reader gets. */
export const breaks: Record<string, [ScriptedAnswer, string]> = {
  'cut by FIN': [{ chunks: begun, end: 'fin' }, 'model_stream_cut'],
  'cut by RST': [{ chunks: begun, end: 'rst' }, 'model_stream_cut'],
  'ended without a finish reason': [{ chunks: begun }, 'model_stream_cut'],
  'cut inside a call whose arguments look whole': [{ chunks: halfCall, end: 'fin' }, 'model_stream_cut'],
  'silent for too long': [{ chunks: begun, end: 'stall' }, 'model_timeout'],
  'a malformed chunk': [{ chunks: [...begun, 'data: {"choices": [{"ind\n\n'], end: 'stall' }, 'model_bad_response'],
  'an error in the stream': [
    { chunks: [...begun, { error: { message: 'The engine is overloaded', code: 503 } }, 'data: [DONE]\n\n'] },
    'model_error',
  ],
};

/** `<break>`, or `second: <break>` for one after a round with a tool. */
export function cutScript(request: ReceivedRequest): ScriptedAnswer {
  const messages = request.body['messages'] as { role: string; content: string }[];
  const asked = messages[0]!.content;
  const later = asked.startsWith('second: ');
  if (later && messages.at(-1)!.role !== 'tool') return { text: 'Looking.', toolCalls: [{ name: 'get_time' }] };
  return breaks[later ? asked.slice('second: '.length) : asked]![0];
}

/** Breaks off where requested, otherwise calls tools. */
export function cutOrToolScript(request: ReceivedRequest): ScriptedAnswer {
  const messages = request.body['messages'] as { role: string; content: string }[];
  const asked = messages.find(({ role }) => role === 'user')!.content;
  return asked.replace('second: ', '') in breaks ? cutScript(request) : toolScript(request);
}
