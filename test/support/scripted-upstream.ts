// A real HTTP server that plays an OpenAI-compatible upstream from a script: answers in order, or a function of the
// request. It frames, delays, splits, stalls and cuts as told, and remembers what it was asked. It decides nothing.
import { setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { isJsonObject, type Json, type JsonObject } from '../../libs/schemas/json.js';
import { answerPieces, type ScriptedAnswer } from './scripted-answer.js';

export type { ScriptedAnswer, ScriptedToolCall } from './scripted-answer.js';

export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  /** The parsed body; `{}` where there is none. */
  body: JsonObject;
  /** Resolves when the client left before the answer was complete. */
  clientGone: Promise<void>;
  /** Resolves when the answer is over, in whichever way. */
  finished: Promise<void>;
}

export type Script = ScriptedAnswer[] | ((request: ReceivedRequest, number: number) => AnswerOrPromise);
type AnswerOrPromise = ScriptedAnswer | Promise<ScriptedAnswer>;

export interface ScriptedUpstream {
  /** With `/v1`, as a provider's `base_url` wants it. */
  baseUrl: string;
  /** Chat requests in the order they came; `GET /models` is not among them. */
  requests: ReceivedRequest[];
  /** The n-th chat request (from 1), when it has come. @throws after `timeoutMs` */
  received(number: number, timeoutMs?: number): Promise<ReceivedRequest>;
  /** More answers at the end of the script; only for a script that is a list. */
  add(...answers: ScriptedAnswer[]): void;
  /** Sockets open at this moment. */
  connections(): number;
  close(): Promise<void>;
}

export interface ScriptedUpstreamOptions {
  /** What `GET /v1/models` lists; absent: 404. */
  models?: string[];
  port?: number;
}

export async function startScriptedUpstream(
  script: Script,
  options: ScriptedUpstreamOptions = {},
): Promise<ScriptedUpstream> {
  const requests: ReceivedRequest[] = [];
  const sockets = new Set<Socket>();
  const waiting = new Set<() => void>();
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);

  async function serve(incoming: IncomingMessage, reply: ServerResponse): Promise<void> {
    const path = incoming.url ?? '/';
    if (incoming.method === 'GET' && path.endsWith('/models')) return serveModels(reply, options.models);
    const received = await receive(incoming, reply, path);
    requests.push(received);
    for (const wake of waiting) wake();
    const number = requests.length;
    const answer =
      typeof script === 'function'
        ? await script(received, number)
        : (script[number - 1] ?? { status: 500, json: { error: { message: `The script has no answer ${number}` } } });
    await play(answer, received, { reply, incoming, closing: closing.signal });
  }

  const server = createServer((incoming, reply) => {
    serve(incoming, reply).catch((error: unknown) => {
      if (!reply.headersSent) reply.writeHead(500, { 'content-type': 'application/json' });
      reply.end(JSON.stringify({ error: { message: `scripted upstream: ${String(error)}` } }));
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });

  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    received: (number, timeoutMs = 10_000) =>
      new Promise((resolve, reject) => {
        const check = () => {
          const request = requests[number - 1];
          if (request === undefined) return;
          clearTimeout(timer);
          waiting.delete(check);
          resolve(request);
        };
        const timer = setTimeout(() => {
          waiting.delete(check);
          reject(new Error(`no request ${number} within ${timeoutMs} ms, ${requests.length} came`));
        }, timeoutMs);
        waiting.add(check);
        check();
      }),
    add: (...answers) => {
      if (typeof script === 'function') throw new Error('this script is a function');
      script.push(...answers);
    },
    connections: () => sockets.size,
    close: async () => {
      closing.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function serveModels(reply: ServerResponse, models: string[] | undefined): void {
  if (models === undefined) {
    reply.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"not found"}}');
    return;
  }
  const data = models.map((id) => ({ id, object: 'model', created: 0, owned_by: 'script' }));
  reply.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ object: 'list', data }));
}

async function receive(incoming: IncomingMessage, reply: ServerResponse, path: string): Promise<ReceivedRequest> {
  const finished = new Promise<void>((resolve) => reply.once('close', () => resolve()));
  const clientGone = new Promise<void>((resolve) => {
    reply.once('close', () => {
      if (!reply.writableFinished) resolve();
    });
  });
  const pieces: Buffer[] = [];
  for await (const piece of incoming) pieces.push(piece as Buffer);
  const text = Buffer.concat(pieces).toString('utf8');
  const parsed = text === '' ? {} : (JSON.parse(text) as Json);
  return {
    method: incoming.method ?? 'GET',
    path,
    headers: incoming.headers,
    body: isJsonObject(parsed) ? parsed : {},
    clientGone,
    finished,
  };
}

interface Stage {
  reply: ServerResponse;
  incoming: IncomingMessage;
  closing: AbortSignal;
}

async function play(answer: ScriptedAnswer, request: ReceivedRequest, stage: Stage): Promise<void> {
  const { reply } = stage;
  const closed = new Promise<void>((resolve) => stage.closing.addEventListener('abort', () => resolve()));
  const over = Promise.race([request.finished, closed]);
  if (answer.before !== undefined) await Promise.race([answer.before, over]);
  if (answer.never === true) return over;
  if (answer.refuse !== undefined) return cut(stage, answer.refuse);
  const streamed = answer.streamed ?? request.body['stream'] === true;
  const pieces = answerPieces(answer, streamed);
  const type = pieces.streamed ? 'text/event-stream' : 'application/json';
  reply.writeHead(answer.status ?? 200, { 'content-type': type, ...answer.headers });
  for (const piece of pieces.list) {
    if (reply.destroyed || stage.closing.aborted) return;
    if (typeof piece === 'string' || Buffer.isBuffer(piece)) await write(reply, Buffer.from(piece), answer.splitBytes);
    else await Promise.race([typeof piece === 'function' ? piece() : piece, over]);
  }
  if (answer.end === 'stall') return over;
  if (answer.end === 'fin' || answer.end === 'rst') return cut(stage, answer.end);
  reply.end();
}

/** Closes the connection in the middle of an answer: `fin` politely, `rst` not. */
async function cut(stage: Stage, how: 'fin' | 'rst'): Promise<void> {
  const socket = stage.incoming.socket;
  // What was written must reach the client first, or the test would not see what it asked for.
  await new Promise<void>((resolve) => setImmediate(resolve));
  if (how === 'rst') socket.resetAndDestroy();
  else socket.end();
}

async function write(reply: ServerResponse, bytes: Buffer, splitBytes = bytes.length): Promise<void> {
  for (let start = 0; start < bytes.length && !reply.destroyed; start += splitBytes) {
    const taken = reply.write(bytes.subarray(start, start + splitBytes));
    if (!taken) {
      await new Promise<void>((resolve) => {
        const goOn = () => {
          reply.off('drain', goOn).off('close', goOn);
          resolve();
        };
        reply.once('drain', goOn).once('close', goOn);
      });
    } else if (splitBytes < bytes.length) await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
