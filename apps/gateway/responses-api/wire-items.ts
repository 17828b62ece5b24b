// Makes the items and counts of a response from those of a turn.
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { usageDetail, type Usage } from '#libs/schemas/usage.js';
import type { WireCustomCall, WireFunctionCall, WireItem, WireMcpCall, WireResponseUsage } from './wire-types.js';

type CallEvent = Extract<TurnEvent, { type: 'tool_call' }>;
export type CallItem = WireFunctionCall | WireCustomCall | WireMcpCall;

export const deltaTypes = {
  mcp_call: 'response.mcp_call_arguments.delta',
  function_call: 'response.function_call_arguments.delta',
  custom_tool_call: 'response.custom_tool_call_input.delta',
} as const;

export const isOwnCall = (item: WireItem): item is WireFunctionCall | WireCustomCall =>
  item.type === 'function_call' || item.type === 'custom_tool_call';

/** Server calls get ids with another prefix, so that in a history they are never taken for the caller's own calls. */
export function newCall(id: string, event: CallEvent): CallItem {
  const shown = id.replace(/^call_/, '');
  const name = event.name ?? '';
  if (event.clientIndex !== null) {
    const { namespace, custom } = event.form ?? {};
    const called = { call_id: id, name, ...(namespace === undefined ? {} : { namespace }) };
    return custom === true
      ? { type: 'custom_tool_call', id: `ctc_${shown}`, ...called, input: '', status: 'in_progress' }
      : { type: 'function_call', id: `fc_${shown}`, ...called, arguments: '', status: 'in_progress' };
  }
  return {
    type: 'mcp_call',
    id: `mcp_${shown}`,
    server_label: event.server ?? '',
    name,
    arguments: '',
    status: 'in_progress',
    output: null,
    error: null,
    approval_request_id: null,
  };
}

export function toResponseUsage(usage: Usage): WireResponseUsage {
  return {
    input_tokens: usage.prompt_tokens,
    input_tokens_details: {
      cached_tokens: usageDetail(usage, 'prompt_tokens_details', 'cached_tokens'),
      cache_write_tokens: usageDetail(usage, 'prompt_tokens_details', 'cache_creation_tokens'),
    },
    output_tokens: usage.completion_tokens,
    output_tokens_details: { reasoning_tokens: usageDetail(usage, 'completion_tokens_details', 'reasoning_tokens') },
    total_tokens: usage.total_tokens,
  };
}
