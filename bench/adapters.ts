// `npm run bench -- --adapters`: what a streamed chunk costs from a provider's bytes to the client's, in this process and
// without a network, for every family, beside the bare SSE parser; and whether memory stays flat over a long stream.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { providerSchema } from '#libs/config/schema.js';
import { MessageAssembler } from '../apps/gateway/turn/assemble-message.js';
import { wireFamily } from '../apps/gateway/models/routing/create-provider.js';
import { PromptedAnswer } from '../apps/gateway/models/prompted/read-prompted-answer.js';
import { answering } from '../test/support/one-by-one.js';
import type { TakeModelEvents } from '../apps/gateway/models/model-provider.js';
import { readAnswer } from '../apps/gateway/models/wire/read-answer.js';
import { createErrorReader } from '../apps/gateway/models/wire/read-upstream-error.js';
import { createSseReader } from '../apps/gateway/models/wire/sse-reader.js';
import { mapToolNames } from '../apps/gateway/models/conversation/tool-names.js';
import { Warnings } from '../apps/gateway/models/conversation/warnings.js';
import { OpenAiSseRenderer } from '../apps/gateway/openai-api/render-sse.js';

interface Stream {
  name: string;
  kind: 'openai' | 'anthropic' | 'gemini';
  /** Its model writes calls as text, so that every piece is looked at for one. */
  prompted?: true;
  first: string;
  piece: string;
  last: string;
}

const goalMicros = 15;
const warmChunks = 50_000;
const measuredChunks = 200_000;
const longChunks = 100_000;
/** What a chunk may leave behind: its text and the places where the whole answer is gathered. */
const goalBytesAChunk = 256;
const maxEventChars = 1_000_000;

const sse = (data: object, event?: string) =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;

const openAiChunk = (delta: object, finish_reason: string | null = null) =>
  sse({
    id: 'chatcmpl-bench',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'bench',
    choices: [{ index: 0, delta, finish_reason }],
  });
const openAi = {
  kind: 'openai',
  first: openAiChunk({ role: 'assistant', content: '' }),
  piece: openAiChunk({ content: ' and then' }),
  last: `${openAiChunk({}, 'stop')}data: [DONE]\n\n`,
} as const;

const geminiChunk = (text: string, more: object = {}) =>
  sse({
    candidates: [{ content: { parts: [{ text }], role: 'model' }, index: 0, ...more }],
    usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 20, totalTokenCount: 32 },
    modelVersion: 'bench',
    responseId: 'r',
  });

const anthropicEvent = (data: { type: string; [member: string]: unknown }) => sse(data, data.type);

const streams: readonly Stream[] = [
  { name: 'openai', ...openAi },
  {
    name: 'anthropic',
    kind: 'anthropic',
    first:
      anthropicEvent({
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'bench',
          content: [],
          usage: { input_tokens: 12, output_tokens: 1 },
        },
      }) + anthropicEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    piece: anthropicEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ' and then' } }),
    last:
      anthropicEvent({ type: 'content_block_stop', index: 0 }) +
      anthropicEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 20 } }) +
      anthropicEvent({ type: 'message_stop' }),
  },
  {
    name: 'gemini',
    kind: 'gemini',
    first: geminiChunk('Well,'),
    piece: geminiChunk(' and then'),
    last: geminiChunk('.', { finishReason: 'STOP' }),
  },
  { name: 'openai, prompted tools', prompted: true, ...openAi },
];

interface Read {
  /** Characters that the client was sent. */
  sent: number;
  /** Whether the client was told that the answer is whole. */
  finished: boolean;
}

/** One stream of so many pieces, each in a read of its own. `onPiece` is called before each. */
async function read(stream: Stream, pieces: number, onPiece?: (index: number) => void): Promise<Read> {
  let sent = 0;
  const assembler = new MessageAssembler({
    emit(events) {
      for (const event of events) sent += Buffer.byteLength(renderer.render(event));
      return undefined;
    },
    isClientCall: () => true,
    serverOf: () => undefined,
    idsAreStored: false,
    onStart: (model) => ({ type: 'start', model, runId: 'run_bench' }),
    separator: '',
    numbering: { calls: 0, clientCalls: 0 },
  });
  const renderer = new OpenAiSseRenderer({ id: 'chatcmpl-bench', created: 1_700_000_000 }, false);
  await answer(stream, pieces, assembler.take, onPiece);
  assembler.throwIfFailed();
  return { sent, finished: assembler.message().finishReason === 'stop' };
}

function answer(
  stream: Stream,
  pieces: number,
  take: TakeModelEvents,
  onPiece?: (index: number) => void,
): Promise<unknown> {
  const [first, piece, last] = [stream.first, stream.piece, stream.last].map((text) => Buffer.from(text));
  let at = -1;
  const next = () => {
    at += 1;
    if (at === 0) return first;
    if (at > pieces) return at === pieces + 1 ? last : undefined;
    onPiece?.(at);
    return piece;
  };
  const upstream = answering('text/event-stream', next);
  const family = wireFamily(stream.kind, providerSchema.parse({ kind: stream.kind }));
  const errors = createErrorReader({ provider: 'bench', secrets: [], readError: (body) => family.readError(body) });
  const names = mapToolNames([], family.toolNames);
  const request = { model: 'bench', messages: [], tools: [], stream: true, parameters: {}, unknown: {} };
  const { reader } = family.toRequest(request, { provider: 'bench', errors, names, warnings: new Warnings() });
  const told = stream.prompted === true ? new PromptedAnswer(new Set(['get_time']), take).take : take;
  return readAnswer(upstream, reader, { provider: 'bench', maxEventChars }, told);
}

/** CPU time of this process a unit, µs. */
async function microsOf(units: number, work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / units;
}

function parseOnly(stream: Stream, pieces: number): void {
  const reader = createSseReader(maxEventChars);
  const piece = Buffer.from(stream.piece);
  for (let at = 0; at < pieces; at += 1) reader.feed(piece);
}

/** Bytes that a chunk left in the heap, between a fifth and the end of a long stream. */
async function bytesAChunk(stream: Stream, collect: () => void): Promise<number> {
  const heap: number[] = [];
  const looksAt = new Set([longChunks / 5, longChunks]);
  await read(stream, longChunks, (index) => {
    if (!looksAt.has(index)) return;
    collect();
    heap.push(process.memoryUsage().heapUsed);
  });
  return (heap[1]! - heap[0]!) / (longChunks * 0.8);
}

/** Prints a line a family. False when a stream did not come through whole. */
export async function measureAdapters(): Promise<boolean> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let right = true;
  for (const stream of streams) {
    await read(stream, warmChunks);
    parseOnly(stream, warmChunks);
    const parser = await microsOf(measuredChunks, () => parseOnly(stream, measuredChunks));
    let was: Read = { sent: 0, finished: false };
    const all = await microsOf(measuredChunks, async () => (was = await read(stream, measuredChunks)));
    const left = await bytesAChunk(stream, collect);
    const whole = was.finished && was.sent > measuredChunks * 100;
    right &&= whole;
    const members = [
      `a chunk: ${all.toFixed(2)} µs`,
      `bare SSE parser: ${parser.toFixed(2)} µs`,
      `left in memory: ${left.toFixed(0)} bytes`,
      `≤ ${goalMicros} µs: ${all <= goalMicros ? 'met' : 'missed'}`,
      `flat (≤ ${goalBytesAChunk} bytes): ${left <= goalBytesAChunk ? 'met' : 'missed'}`,
      ...(whole ? [] : ['NOT WHOLE']),
    ];
    console.log(`${stream.name.padEnd(24)} ${members.join(' | ')}`);
  }
  return right;
}
