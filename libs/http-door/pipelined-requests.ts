// Requests that come on one connection before the earlier ones are answered. Each is worked on at once and its answer waits
// for those before it, so their number has a bound: one write of half a megabyte is ten thousand of them.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#libs/schemas/errors.js';

/** No client is known that sends more; most send one. */
export const maxPipelined = 16;

/** Of each connection: whom to tell when it ends before their answer has. */
const unanswered = new WeakMap<Socket, Set<() => void>>();

/** The first request above the bound is refused, and the connection ends with that answer: the rest has none. */
export function boundPipelines(fastify: FastifyInstance, onRefused: () => void): void {
  const underWay = new WeakMap<Socket, number>();
  fastify.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => {
    const { socket } = request.raw;
    const count = (underWay.get(socket) ?? 0) + 1;
    underWay.set(socket, count);
    reply.raw.once('close', () => underWay.set(socket, underWay.get(socket)! - 1));
    if (count <= maxPipelined) return done();
    if (count > maxPipelined + 1) return;
    onRefused();
    reply.header('connection', 'close');
    done(new AppError('concurrency_exceeded', `${maxPipelined} requests of this connection are under way`));
  });
}

/** An answer that waits for others knows nothing of its connection: Node would tell its end to the first one only. */
export function whenGone({ socket }: { socket: Socket }, answer: ServerResponse, onGone: () => void): void {
  let waiting = unanswered.get(socket);
  if (waiting === undefined) {
    const all = (waiting = new Set());
    unanswered.set(socket, all);
    socket.once('close', () => {
      for (const gone of all) gone();
    });
  }
  waiting.add(onGone);
  answer.once('close', () => {
    waiting.delete(onGone);
    if (!answer.writableFinished) onGone();
  });
}
