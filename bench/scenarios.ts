// What is measured: the requests, how many are under way at once, and what each should cost at most.
import type { Busy } from './keep-busy.js';

/** Content chunks of one streamed answer. */
export const chunksAStream = 100;

export interface Scenario {
  name: string;
  /** Absent: no request, but a job that goes through the queue and back, with no gateway, worker or store in between. */
  path?: string;
  body: object;
  inFlight: number;
  /** One unit is a request, except in streams, where it is a chunk. */
  unit: 'request' | 'chunk' | 'loop' | 'call' | 'trip';
  /** What the same can be put to, to compare: the upstream itself, or the MCP server by the SDK's client alone. */
  beside?: 'upstream' | 'tool server';
  /** Tool calls that one request makes. */
  calls: number;
  goal?: Goal;
  /** Where it is another one on the Redis set. */
  goalOnRedis?: Goal;
}

export interface Goal {
  minPerSecond?: number;
  maxP50Ms?: number;
  /** Median, over what it is compared with. */
  maxAddedMs?: number;
  /** CPU time, as a multiple of the bare proxy's. */
  maxTimesBare?: number;
}

const messages = [
  { role: 'system', content: 'You are a helpful assistant. Answer in one sentence.' },
  { role: 'user', content: 'What time is it, and is there anything that I should know about today?' },
];
const path = '/v1/chat/completions';
const toUpstream = { path, beside: 'upstream', calls: 0 } as const;
const plainChat = { ...toUpstream, body: { model: 'bench/model', messages }, unit: 'request' } as const;
const stream = { ...toUpstream, body: { model: 'bench/model', messages, stream: true }, unit: 'chunk' } as const;
const loop = {
  path,
  body: { messages, tools: [{ type: 'mcp', server_label: 'workspace' }] },
  unit: 'loop',
  calls: 1,
} as const;
const toolCall = '/api/tools/call';
const getTime = { name: 'get_time', arguments: {} };
const say = { name: 'say', arguments: { text: 'hello' }, session_id: 'bench' };

export const scenarios: readonly Scenario[] = [
  { ...plainChat, name: 'plain chat, JSON, 1 in flight', inFlight: 1, goal: { maxAddedMs: 0.2 } },
  { ...plainChat, name: 'plain chat, JSON, 16 in flight', inFlight: 16, goal: { maxTimesBare: 3 } },
  { ...stream, name: `SSE, 1 stream of ${chunksAStream} chunks`, inFlight: 1, goal: { maxAddedMs: 0.25 } },
  { ...stream, name: `SSE, 16 streams of ${chunksAStream} chunks`, inFlight: 16, goal: { maxTimesBare: 1.3 } },
  {
    ...loop,
    name: 'loop: 2 model calls, 1 tool, 1 in flight',
    inFlight: 1,
    goal: { maxP50Ms: 10 },
    goalOnRedis: { maxP50Ms: 2.5 },
  },
  { ...loop, name: 'loop: 2 model calls, 1 tool, 16 in flight', inFlight: 16, goal: { minPerSecond: 250 } },
  { ...loop, name: 'loop: 2 model calls, 1 tool, 64 in flight', inFlight: 64, goalOnRedis: { minPerSecond: 2_600 } },
  {
    name: 'tools API, get_time, 16 in flight',
    path: toolCall,
    body: getTime,
    inFlight: 16,
    unit: 'call',
    calls: 1,
    goalOnRedis: { minPerSecond: 3_500 },
  },
  {
    name: 'tools API, get_time, 64 in flight',
    path: toolCall,
    body: getTime,
    inFlight: 64,
    unit: 'call',
    calls: 1,
    goalOnRedis: { minPerSecond: 6_000 },
  },
  {
    name: 'tools API, MCP server over stdio, 1 in flight',
    path: toolCall,
    body: say,
    inFlight: 1,
    unit: 'call',
    beside: 'tool server',
    calls: 1,
    goalOnRedis: { maxAddedMs: 1.2 },
  },
  {
    name: 'tools API, MCP server over stdio, 16 in flight',
    path: toolCall,
    body: say,
    inFlight: 16,
    unit: 'call',
    beside: 'tool server',
    calls: 1,
    goalOnRedis: { minPerSecond: 3_000 },
  },
  {
    name: '/mcp tools/call, get_time, 16 in flight',
    path: '/mcp',
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: getTime },
    inFlight: 16,
    unit: 'call',
    calls: 1,
    goalOnRedis: { minPerSecond: 1_500 },
  },
  {
    name: 'queue round trip without journal, 1 in flight',
    body: {},
    inFlight: 1,
    unit: 'trip',
    calls: 0,
    goalOnRedis: { maxP50Ms: 0.35 },
  },
  {
    name: 'queue round trip without journal, 64 in flight',
    body: {},
    inFlight: 64,
    unit: 'trip',
    calls: 0,
    goalOnRedis: { minPerSecond: 9_000 },
  },
];

/** How a request of it is put to the bare proxy, or, where that cannot serve it, the plain chat that it is compared with. */
export const bareRequest = ({ unit }: Scenario) => (unit === 'chunk' ? stream : plainChat);

/**
 * What is put first and not measured. Also before one request at a time it is many at once: a program that has done a thing
 * a few hundred times only is still being compiled.
 */
export function warmingUp({ inFlight }: Scenario, forMs: number): Busy {
  return { inFlight: Math.max(inFlight, 16), forMs };
}
