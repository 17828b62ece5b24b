// Requests that come on one connection before the earlier ones are answered. Each is worked on at once and its answer waits
// for those before it, so their number has a bound: one write of half a megabyte is ten thousand of them.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#libs/schemas/errors.js';
import { countExchange } from './exchanges.js';

/** No client is known that sends more; most send one. */
export const maxPipelined = 16;

/** The first request above the bound is refused, and the connection ends with that answer: the rest has none. */
export function boundPipelines(fastify: FastifyInstance, onRefused: () => void): void {
  fastify.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => {
    const underWay = countExchange(request.raw, reply.raw).size;
    if (underWay <= maxPipelined) return done();
    if (underWay > maxPipelined + 1) return;
    onRefused();
    reply.header('connection', 'close');
    done(new AppError('concurrency_exceeded', `${maxPipelined} requests of this connection are under way`));
  });
}
