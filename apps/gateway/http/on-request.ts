// The hook that runs before every route, and before Nest. Gives the request its context and log line, checks the connection's
// limits and the origin, authenticates the caller, and refuses what can be refused before the body is read.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '#libs/config/schema.js';
import { operatorRequest, type OperatorAccess } from '#libs/health/operator-access.js';
import { mayBeAnswered, rememberReply } from '#libs/http-server/connections.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { tracing, type Tracing } from '#libs/tracing/tracing.js';
import type { Authentication } from './admin/authenticate.js';
import type { LimitRequests } from './admin/limit-requests.js';
import { markUpload } from './files/file-uploads.js';
import { sendToConsole } from './console/send-to-console.js';
import { signInChallenges } from './mcp/protected-resource.js';
import { originGuard } from './origin-guard.js';
import { giveContext, requestContext } from './request-context.js';
import { logAtEnd, quietRoutes } from './request-log.js';
import { answered, requestSpan } from '#libs/tracing/spans.js';

export interface OnRequestParts {
  config: Pick<Config, 'server' | 'limits' | 'console' | 'auth'>;
  /** Decides who may read the documentation. */
  access: OperatorAccess;
  /** If absent, all callers are the keyless principal. */
  authentication?: Pick<Authentication, 'authenticate' | 'watchRoutes'>;
  /** If absent, request rates are not limited. */
  rates?: Pick<LimitRequests, 'admit'>;
  logger: Logger;
}

/** Call before the routes are registered. */
export function registerOnRequest(fastify: FastifyInstance, parts: OnRequestParts): void {
  const { config, access, authentication, rates, logger } = parts;
  const routes = watchRoutes(fastify);
  const guard = originGuard(config.server);
  const challengeOf = signInChallenges(config);
  fastify.decorateRequest('signalboxContext', undefined);
  authentication?.watchRoutes(fastify);
  // With a callback, because a promise for every request would cost more than all these checks.
  fastify.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => {
    const fail = (error: unknown) => {
      const challenge = error instanceof AppError ? challengeOf(request, error) : undefined;
      if (challenge !== undefined) reply.header('www-authenticate', challenge);
      done(error as Error);
    };
    const finish = () => {
      try {
        if (isDocumentation.test(request.url)) access.admit(operatorRequest(request.raw));
        refuseUnreadable(request, routes);
        markUpload(request);
      } catch (error) {
        return fail(error);
      }
      done();
    };
    let admitted: Promise<void> | undefined;
    try {
      rememberReply(request, reply);
      giveContext(request, reply, config.limits.turn_ms);
      if (tracing !== undefined) traceRequest(request, reply, tracing);
      if (!mayBeAnswered(request.raw, reply.raw)) return;
      logAtEnd(request, reply, logger);
      if (guard(request, reply)) return;
      if (config.console.enabled && sendToConsole(request, reply)) return;
      admitted = admit(request, reply);
    } catch (error) {
      return fail(error);
    }
    if (admitted === undefined) finish();
    else void admitted.then(finish, fail);
  });

  function admit(request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined {
    const lookup = authentication?.authenticate(request);
    return lookup === undefined ? rates?.admit(request, reply) : lookup.then(() => rates?.admit(request, reply));
  }
}

const isDocumentation = /^\/(?:docs(?:[/?]|$)|openapi\.json)/;

/** @throws AppError unsupported_media_type, method_not_allowed */
function refuseUnreadable(request: FastifyRequest, routes: KnownRoutes): void {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new AppError('unsupported_media_type', 'Send the body without Content-Encoding');
  }
  if (!request.is404) return;
  const methods = routes.methods(request.url.split('?', 1)[0]!);
  if (methods.length > 0) throw new AppError('method_not_allowed', `Allowed here: ${methods.join(', ')}`);
}

/** A span from the request's headers to the end of its answer. The request's `traceparent` becomes that of the span. */
function traceRequest(request: FastifyRequest, reply: FastifyReply, tracing: Tracing): void {
  const route = request.routeOptions.url;
  if (route !== undefined && quietRoutes.has(route)) return;
  const context = requestContext(request);
  const span = tracing.start(requestSpan(request.method, route, context.requestId), context.traceparent);
  context.traceparent = span.traceparent;
  reply.raw.once('close', () => {
    const { statusCode, writableFinished } = reply.raw;
    span.set(answered(statusCode));
    // By convention a refusal is no error of the server.
    span.end(statusCode >= 500 ? String(statusCode) : writableFinished ? undefined : 'cancelled');
  });
}

export interface KnownRoutes {
  /** Empty for an unknown path. */
  methods(path: string): string[];
}

/** Finds the allowed methods of a path, for 405 answers: Fastify answers wrong methods with 404. */
function watchRoutes(fastify: FastifyInstance): KnownRoutes {
  const routes: { pattern: RegExp; methods: string[] }[] = [];
  fastify.addHook('onRoute', (route) => {
    const source = route.url
      .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
      .replace(/:[A-Za-z]+/g, '[^/]+')
      .replace(/\*/g, '.*');
    routes.push({ pattern: new RegExp(`^${source}/?$`), methods: [route.method].flat() });
  });
  return {
    methods(path) {
      const matching = routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods);
      return [...new Set(matching)].filter((method) => method !== 'OPTIONS');
    },
  };
}
