// Creates the context of a request, before anything else handles it: ids, principal, deadline and abort signal.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Deadline } from '#libs/concurrency/deadline.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { whenGone } from '#libs/http-server/connections.js';
import { keylessPrincipal, type StoppableContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintRequestId } from '#libs/schemas/identifiers.js';
import { traceparentOf } from '#libs/tracing/tracing.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Read it with `requestContext`. */
    signalboxContext: StoppableContext | undefined;
  }
}

const shownRequestId = /^[\x21-\x7e]{1,128}$/;

/** The signal of the context aborts if the client disconnects before the answer is complete. */
export function requestContext(request: FastifyRequest): StoppableContext {
  const context = request.signalboxContext;
  if (context === undefined) throw new Error('request without a context: the hook of on-request.ts has not run');
  return context;
}

/** Sets the context of a request and returns `x-request-id`. `turnMs` bounds everything that the request starts. */
export function giveContext(request: FastifyRequest, reply: FastifyReply, turnMs: number): void {
  const stop = new Stop();
  whenGone(request.raw, reply.raw, () => stop.abort(new AppError('cancelled', 'The client has gone')));
  const given = request.headers['x-request-id'];
  const requestId = typeof given === 'string' && shownRequestId.test(given) ? given : mintRequestId();
  const traceparent = traceparentOf(request.headers['traceparent']);
  request.signalboxContext = {
    principal: keylessPrincipal,
    requestId,
    ip: request.ip,
    ...(/\bno-(?:cache|store)\b/i.test(request.headers['cache-control'] ?? '') ? { noCache: true } : {}),
    ...(traceparent === undefined ? {} : { traceparent }),
    header: (name) => [request.headers[name]].flat().find((value) => value !== undefined),
    // An own getter, so that copies of the context have the signal.
    get signal() {
      return stop.signal;
    },
    abort: (reason) => stop.abort(reason),
    deadline: new Deadline(steadyNow() + turnMs),
  };
  reply.header('x-request-id', requestId);
}

/** Creates its AbortController only when the signal is read, since most requests do not need it. */
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
