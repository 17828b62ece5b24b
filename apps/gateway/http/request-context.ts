// Creates the context of a request, before anything else handles it: ids, principal, deadline and abort signal.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Deadline } from '#libs/concurrency/deadline.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { whenGone } from '#libs/http-server/connections.js';
import { type Access, keylessPrincipal, type StoppableContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintRequestId } from '#libs/schemas/identifiers.js';
import { traceparentOf } from '#libs/tracing/tracing.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Read with `requestContext`. */
    signalboxContext: StoppableContext | undefined;
  }
}

const cacheForbidden = /\bno-(?:cache|store)\b/i;
const shownRequestId = /^[\x21-\x7e]{1,128}$/;

/** The signal of the context aborts if the client disconnects before the answer is complete. */
export function requestContext(request: FastifyRequest): StoppableContext {
  const context = request.signalboxContext;
  if (context === undefined) throw new Error('request without a context: the hook of on-request.ts has not run');
  return context;
}

/** Sets the context of a request and returns `x-request-id`. `turnMs` bounds everything that the request starts. */
export function giveContext(request: FastifyRequest, reply: FastifyReply, turnMs: number): void {
  const context = new GivenContext(request, turnMs);
  whenGone(request.raw, reply.raw, () => context.abort(new AppError('cancelled', 'The client has gone')));
  request.signalboxContext = context;
  reply.header('x-request-id', context.requestId);
}

class GivenContext implements StoppableContext {
  principal = keylessPrincipal;
  keyId: string | undefined = undefined;
  roles: Access['roles'] | undefined = undefined;
  access: Access | undefined = undefined;
  parentCall: string | undefined = undefined;
  callerToken: (() => string) | undefined = undefined;
  runsTurn = false;
  readonly requestId: string;
  readonly ip: string;
  readonly noCache: boolean;
  readonly deadline: Deadline;
  traceparent: string | undefined;
  /** An own member, so that copies of the context have the signal. */
  declare readonly signal: AbortSignal;
  /** Authentication hides the header with the caller's key. */
  header: (name: string) => string | undefined;
  private controller: AbortController | undefined = undefined;
  private reason: AppError | undefined = undefined;
  /** One descriptor, so that all contexts have one shape. Reading creates the AbortController: most requests need none. */
  private static readonly ownSignal = {
    enumerable: true,
    get(this: GivenContext): AbortSignal {
      if (this.controller === undefined) {
        this.controller = new AbortController();
        if (this.reason !== undefined) this.controller.abort(this.reason);
      }
      return this.controller.signal;
    },
  };

  constructor(request: FastifyRequest, turnMs: number) {
    const { headers } = request;
    const given = headers['x-request-id'];
    this.requestId = typeof given === 'string' && shownRequestId.test(given) ? given : mintRequestId();
    this.ip = request.ip;
    this.noCache = cacheForbidden.test(headers['cache-control'] ?? '');
    this.deadline = new Deadline(steadyNow() + turnMs);
    this.traceparent = traceparentOf(headers['traceparent']);
    this.header = (name) => {
      const value = headers[name];
      return Array.isArray(value) ? value[0] : value;
    };
    Object.defineProperty(this, 'signal', GivenContext.ownSignal);
  }

  readonly abort = (reason: AppError): void => {
    this.reason ??= reason;
    this.controller?.abort(reason);
  };
}
