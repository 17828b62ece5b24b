// The span of a request, from its headers to the end of its connection's answer. What operators ask all the time is not traced.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { answered, requestSpan } from '#libs/tracing/spans.js';
import type { Tracing } from '#libs/tracing/tracing.js';
import { requestContext } from './request-context.js';
import { quietRoutes } from './request-log.js';

/** The request must have a context: its `traceparent` is that of the span from now on. */
export function traceRequest(request: FastifyRequest, reply: FastifyReply, tracing: Tracing): void {
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
