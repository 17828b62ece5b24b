// Requests that arrive on one connection before earlier ones are answered. Each runs at once, and its answer waits for
// the earlier ones, so their number is bounded: half a megabyte can hold ten thousand of them.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#libs/schemas/errors.js';
import { countExchange } from './exchanges.js';
import { rememberReply } from './refused-requests.js';

/** No known client sends more; most send one. */
export const maxPipelined = 16;

/**
 * Whether the request is processed. The first one above the bound is refused, and the connection ends with that answer:
 * later ones, for which this returns `false`, get none.
 * @throws AppError concurrency_exceeded
 */
export function mayBeAnswered(request: IncomingMessage, answer: ServerResponse, onRefused: () => void): boolean {
  const underWay = countExchange(request, answer).size;
  if (underWay <= maxPipelined) return true;
  if (underWay > maxPipelined + 1) return false;
  onRefused();
  answer.setHeader('connection', 'close');
  throw new AppError('concurrency_exceeded', `${maxPipelined} requests of this connection are already in progress`);
}

/** For a server without hooks of its own. */
export function boundPipelines(fastify: FastifyInstance, onRefused: () => void): void {
  fastify.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => {
    try {
      rememberReply(request, reply);
      if (mayBeAnswered(request.raw, reply.raw, onRefused)) done();
    } catch (error) {
      done(error as Error);
    }
  });
}
