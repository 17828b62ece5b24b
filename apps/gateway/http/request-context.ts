// Who asks and whether they are still there: made once a request, before anything else sees it.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { whenGone } from '#libs/http-door/exchanges.js';
import { keylessPrincipal, type StoppableContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintRequestId } from '#libs/schemas/identifiers.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** For `requestContext`. */
    signalboxContext: StoppableContext | undefined;
  }
}

const shownRequestId = /^[\x21-\x7e]{1,128}$/;
const traceparent = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The context of a request. Its signal aborts when the client has gone before the answer was complete. */
export function requestContext(request: FastifyRequest): StoppableContext {
  const context = request.signalboxContext;
  if (context === undefined) throw new Error('request without a context: registerRequestContext has not run');
  return context;
}

/** Gives every request its context and echoes `x-request-id`. `turnMs`: how long anything a request starts may run. */
export function registerRequestContext(fastify: FastifyInstance, turnMs: number): void {
  fastify.decorateRequest('signalboxContext', undefined);
  fastify.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    const gone = new AbortController();
    whenGone(request.raw, reply.raw, () => gone.abort(new AppError('cancelled', 'The client has gone')));
    const given = request.headers['x-request-id'];
    const requestId = typeof given === 'string' && shownRequestId.test(given) ? given : mintRequestId();
    const trace = request.headers['traceparent'];
    request.signalboxContext = {
      principal: keylessPrincipal,
      requestId,
      ip: request.ip,
      ...(/\bno-(?:cache|store)\b/i.test(request.headers['cache-control'] ?? '') ? { noCache: true } : {}),
      ...(typeof trace === 'string' && traceparent.test(trace) ? { traceparent: trace } : {}),
      header: (name) => [request.headers[name]].flat().find((value) => value !== undefined),
      signal: gone.signal,
      abort: (reason) => gone.abort(reason),
      deadline: steadyNow() + turnMs,
    };
    reply.header('x-request-id', requestId);
    done();
  });
}
