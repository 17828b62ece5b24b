// Test support: the events of a turn with everything that a chat API must show.
import type { ToolExecution, TurnEvent } from '#libs/schemas/turn-event.js';

export const usageWithDetails = {
  prompt_tokens: 10,
  completion_tokens: 2,
  total_tokens: 12,
  prompt_tokens_details: { cached_tokens: 4, cache_creation_tokens: 1 },
};
export const turnExecution: ToolExecution = {
  executed: true,
  tools_called: ['read_file'],
  session_id: 's',
  workspace_path: '/mcp_workspaces/s',
  rounds: 2,
  stopped_by: null,
  calls: [],
};
const done: TurnEvent = {
  type: 'done',
  finishReason: 'tool_calls',
  usage: usageWithDetails,
  toolExecution: turnExecution,
};

/** Two rounds: text and a call that runs here, then reasoning, text and two interleaved calls for the caller. */
export const turnWithCalls: TurnEvent[] = [
  { type: 'start', model: 'm', runId: 'run_1' },
  { type: 'content', text: 'one' },
  {
    type: 'tool_call',
    index: 0,
    clientIndex: null,
    id: 'call_a',
    name: 'read_file',
    server: 'workspace',
    arguments: '',
  },
  { type: 'tool_call', index: 0, clientIndex: null, arguments: '{"path":"x"}' },
  { type: 'tool_progress', callId: 'call_a', status: 'queued' },
  { type: 'tool_result', callId: 'call_a', result: { success: true, content: 'text of x', duration_ms: 1 } },
  { type: 'reasoning', text: 'hm' },
  { type: 'content', text: '\n\ntw' },
  { type: 'content', text: 'o' },
  { type: 'tool_call', index: 1, clientIndex: 0, id: 'call_b', name: 'mine', arguments: '' },
  { type: 'tool_call', index: 2, clientIndex: 1, id: 'call_c', name: 'yours', arguments: '' },
  { type: 'tool_call', index: 2, clientIndex: 1, arguments: '{"c":' },
  { type: 'tool_call', index: 1, clientIndex: 0, arguments: '{"b":{}' },
  { type: 'tool_call', index: 1, clientIndex: 0, arguments: '}' },
  { type: 'tool_call', index: 2, clientIndex: 1, arguments: '1}' },
  done,
];
