// What is measured: the requests, how many are under way at once, and what each should cost at most.

/** Content chunks of one streamed answer. */
export const CHUNKS_A_STREAM = 100;

export interface Scenario {
  name: string;
  path: string;
  body: object;
  inFlight: number;
  /** One unit is a request, except in streams, where it is a chunk. */
  unit: 'request' | 'chunk' | 'loop' | 'call';
  /** Whether the same request can be put to the upstream itself, to compare. */
  comparable: boolean;
  /** Tool calls that one request makes. */
  calls: number;
  goal?: Goal;
  /** Where it is another one on the Redis set. */
  goalOnRedis?: Goal;
}

export interface Goal {
  minPerSecond?: number;
  maxP50Ms?: number;
  maxGatewayMicros?: number;
}

const messages = [
  { role: 'system', content: 'You are a helpful assistant. Answer in one sentence.' },
  { role: 'user', content: 'What time is it, and is there anything that I should know about today?' },
];
const chat = '/v1/chat/completions';
const loop = { messages, tools: [{ type: 'mcp', server_label: 'workspace' }] };

export const scenarios: readonly Scenario[] = [
  {
    name: 'plain chat, JSON, 1 in flight',
    path: chat,
    body: { model: 'bench/model', messages },
    inFlight: 1,
    unit: 'request',
    comparable: true,
    calls: 0,
  },
  {
    name: 'plain chat, JSON, 16 in flight',
    path: chat,
    body: { model: 'bench/model', messages },
    inFlight: 16,
    unit: 'request',
    comparable: true,
    calls: 0,
    goal: { maxGatewayMicros: 90 },
  },
  {
    name: `SSE, 16 streams of ${CHUNKS_A_STREAM} chunks`,
    path: chat,
    body: { model: 'bench/model', messages, stream: true },
    inFlight: 16,
    unit: 'chunk',
    comparable: true,
    calls: 0,
    goal: { maxGatewayMicros: 8 },
  },
  {
    name: 'loop: 2 model calls, 1 tool, 1 in flight',
    path: chat,
    body: loop,
    inFlight: 1,
    unit: 'loop',
    comparable: false,
    calls: 1,
    goal: { maxP50Ms: 10 },
    goalOnRedis: { maxP50Ms: 2.5 },
  },
  {
    name: 'loop: 2 model calls, 1 tool, 16 in flight',
    path: chat,
    body: loop,
    inFlight: 16,
    unit: 'loop',
    comparable: false,
    calls: 1,
    goal: { minPerSecond: 250 },
  },
  {
    name: 'tools API, get_time, 16 in flight',
    path: '/api/tools/call',
    body: { name: 'get_time', arguments: {} },
    inFlight: 16,
    unit: 'call',
    comparable: false,
    calls: 1,
    goalOnRedis: { minPerSecond: 3_500 },
  },
];
