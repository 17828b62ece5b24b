// An OpenAI-compatible upstream that answers at once, in a process of its own: what is measured is never its thinking.
// With tools it asks for one `get_time` and then answers; without, it answers. Prints its port and ends with its parent.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chunksAStream } from './scenarios.js';

interface Asked {
  stream?: boolean;
  tools?: unknown[];
  messages: { role: string }[];
}

const usage = { prompt_tokens: 12, completion_tokens: 20, total_tokens: 32 };
const common = { id: 'chatcmpl-bench', created: 1_700_000_000, model: 'bench' };
const call = { id: 'call_0', type: 'function', function: { name: 'get_time', arguments: '{}' } };

const whole = (message: object, finish_reason: string) =>
  Buffer.from(
    JSON.stringify({ ...common, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage }),
  );
const chunk = (delta: object, finish_reason: string | null = null) =>
  Buffer.from(
    `data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`,
  );

const answer = whole({ role: 'assistant', content: 'It is a quarter past nine, and all is well here.' }, 'stop');
const toolCall = whole({ role: 'assistant', content: null, tool_calls: [call] }, 'tool_calls');
const chunks = [
  chunk({ role: 'assistant', content: '' }),
  ...Array.from({ length: chunksAStream }, (_, index) => chunk({ content: ` token${index}` })),
  chunk({}, 'stop'),
  Buffer.from('data: [DONE]\n\n'),
];
const callChunks = [
  chunk({ role: 'assistant', content: null, tool_calls: [{ index: 0, ...call }] }),
  chunk({}, 'tool_calls'),
  Buffer.from('data: [DONE]\n\n'),
];

const server = createServer((request, reply) => {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    const asked: Asked =
      pieces.length === 0 ? { messages: [] } : (JSON.parse(Buffer.concat(pieces).toString()) as Asked);
    const calls = (asked.tools ?? []).length > 0 && asked.messages.at(-1)?.role !== 'tool';
    if (asked.stream === true) return stream(reply, calls ? callChunks : chunks);
    const body = calls ? toolCall : answer;
    reply.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
  });
});

/** One write a chunk, in a turn of the loop each, as tokens come. */
function stream(reply: ServerResponse, chunks: readonly Buffer[]): void {
  reply.writeHead(200, { 'content-type': 'text/event-stream' });
  let next = 0;
  const write = () => {
    if (reply.destroyed) return;
    const taken = reply.write(chunks[next++]!);
    if (next === chunks.length) reply.end();
    else if (taken) setImmediate(write);
    else reply.once('drain', write);
  };
  write();
}

server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }));
process.once('disconnect', () => process.exit(0));
