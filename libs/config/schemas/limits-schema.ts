// Settings of what is limited: requests, turns and calls, money, and how long usage is kept.
import { z } from 'zod';
import { bytes, count, ms } from '../setting-kinds.js';

export const limitsSchema = z
  .strictObject({
    body_bytes: bytes('A request body').default(16 * 1024 * 1024),
    messages: count('Messages of a request').default(2_000),
    tools: count('Tools of a request').default(128),
    tool_schema_bytes: bytes('A tool schema').default(64 * 1024),
    tool_schema_depth: count('Depth of a tool schema').default(32),
    turn_ms: ms('Deadline of a turn').default(600_000),
    final_answer_ms: ms('Deadline of the last model call of a turn that reached a limit').default(60_000),
    rounds: count('Model calls with tools in a turn').default(10),
    calls: count('Tool calls of a turn').default(50),
    repeated_failures: count('Equal failed calls in a row that end the loop').default(3),
    session_calls: count('Tool calls at once of a session, on all gateways').default(8),
    principal_calls: count('Tool calls at once of a principal, on all gateways').default(32),
    principal_turns: count(
      'Turns and single tool calls at once of a principal, on all gateways; default: 64 with a key, unlimited without keys',
    ).optional(),
    requests_per_minute: count(
      'Requests of a key in a minute, on all gateways, unless the key has its own limit; default: 600, unlimited without keys',
    ).optional(),
    tokens_per_minute: count(
      'Tokens of a key in a minute, likewise; default: 1,000,000, unlimited without keys',
    ).optional(),
    failed_sign_ins_per_minute: count('Wrong API keys and tokens of one address in a minute, on all gateways').default(
      120,
    ),
    waiting_approvals: count('Calls of a principal that wait for an approval at once').default(100),
    turns: count('Turns and single tool calls at once, in each gateway').default(1_024),
    queue_length: count('Jobs waiting').default(10_000),
    mcp_sessions: count('Sessions of MCP clients from before 2026, in each gateway').default(1_000),
    mcp_session_idle_ms: ms('How long such a session lives while idle').default(600_000),
    mcp_subscriptions: count('Subscriptions of MCP clients, in each gateway').default(1_000),
  })
  .prefault({});

export const budgetsSchema = z
  .strictObject({
    day_usd: z.number().min(0).optional().describe('Money of each key for a day (UTC), unless the key has its own'),
    month_usd: z.number().min(0).optional().describe('The same for a month'),
  })
  .prefault({});

export const usageSchema = z
  .strictObject({
    retention_days: count('Days after which usage is removed').default(400),
  })
  .prefault({});
