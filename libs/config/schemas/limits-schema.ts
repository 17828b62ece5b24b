// The settings of limits: requests, turns and calls, money, and how long usage is kept.
import { z } from 'zod';
import { bytes, count, ms, section } from '../setting-kinds.js';

export const limitsSchema = section({
  body_bytes: bytes('Maximum size of a request body').default(16 * 1024 * 1024),
  messages: count('Maximum number of messages in a request').default(2_000),
  tools: count('Maximum number of tools in a request').default(128),
  tool_schema_bytes: bytes('Maximum size of a tool schema').default(64 * 1024),
  tool_schema_depth: count('Maximum depth of a tool schema').default(32),
  turn_ms: ms('Deadline of a turn').default(600_000),
  final_answer_ms: ms('Deadline of the last model call of a turn that reached a limit').default(60_000),
  rounds: count('Maximum number of model calls with tools in a turn').default(10),
  calls: count('Maximum number of tool calls in a turn').default(50),
  repeated_failures: count('Identical failed calls in a row that end the loop').default(3),
  session_calls: count('Concurrent tool calls of a session, on all gateways').default(8),
  principal_calls: count('Concurrent tool calls of a principal, on all gateways').default(32),
  principal_turns: count(
    'Concurrent turns and single tool calls of a principal, on all gateways; default: 64 with a key, unlimited without keys',
  ).optional(),
  requests_per_minute: count(
    'Requests of a key per minute, on all gateways, unless the key has its own limit; default: 600, unlimited without keys',
  ).optional(),
  tokens_per_minute: count(
    'Tokens of a key per minute, likewise; default: 1,000,000, unlimited without keys',
  ).optional(),
  failed_sign_ins_per_minute: count('Invalid API keys and tokens from one address per minute, on all gateways').default(
    120,
  ),
  waiting_approvals: count('Calls of a principal that may wait for an approval at the same time').default(100),
  turns: count('Concurrent turns and single tool calls, in each gateway').default(1_024),
  queue_length: count('Maximum number of waiting tool calls').default(10_000),
  mcp_sessions: count('Sessions of MCP clients from before 2026, in each gateway').default(1_000),
  mcp_session_idle_ms: ms('How long such a session is kept while idle').default(600_000),
  mcp_subscriptions: count('Subscriptions of MCP clients, in each gateway').default(1_000),
});

export const budgetsSchema = section({
  day_usd: z.number().min(0).optional().describe('Budget of each key for a day (UTC), unless the key has its own'),
  month_usd: z.number().min(0).optional().describe('The same for a month'),
});

export const usageSchema = section({
  retention_days: count('Days after which usage is removed').default(400),
});
