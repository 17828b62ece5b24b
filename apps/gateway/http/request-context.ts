// Who asks and whether they are still there: made once a request, before anything else sees it.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { whenGone } from '#libs/http-server/exchanges.js';
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
  if (context === undefined) throw new Error('request without a context: the hook of on-request.ts has not run');
  return context;
}

/** Gives a request its context and echoes `x-request-id`. `turnMs`: how long anything that a request starts may run. */
export function giveContext(request: FastifyRequest, reply: FastifyReply, turnMs: number): void {
  const stop = new Stop();
  whenGone(request.raw, reply.raw, () => stop.abort(new AppError('cancelled', 'The client has gone')));
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
    // A getter of the object itself: a copy of the context has the signal.
    get signal() {
      return stop.signal;
    },
    abort: (reason) => stop.abort(reason),
    deadline: steadyNow() + turnMs,
  };
  reply.header('x-request-id', requestId);
}

/** An AbortController that is made when somebody asks for its signal: most requests end before. */
class Stop {
  private controller: AbortController | undefined;
  private reason: AppError | undefined;

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.reason !== undefined) this.controller.abort(this.reason);
    }
    return this.controller.signal;
  }

  abort(reason: AppError): void {
    this.reason ??= reason;
    this.controller?.abort(reason);
  }
}
