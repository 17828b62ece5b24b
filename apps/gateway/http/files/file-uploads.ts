// Passes the bodies of uploads on as streams, whatever their Content-Type. Only for the files route.
import type { FastifyInstance, FastifyRequest } from 'fastify';

const filesRoute = '/api/sessions/:id/files/*';

/** Selects the parser that does not read the body. Removed where a client sends it. */
const rawBody = 'application/vnd.signalbox.file';

/** Call before the application listens. The workspace's quota applies instead of the body limit. */
export function registerFileUploads(fastify: FastifyInstance): void {
  fastify.addContentTypeParser(rawBody, (_request, body, done) => done(null, body));
}

export function markUpload(request: FastifyRequest): void {
  const { headers } = request.raw;
  if (headers['content-type']?.toLowerCase().startsWith(rawBody) === true) headers['content-type'] = '';
  if (request.method === 'PUT' && request.routeOptions.url === filesRoute) headers['content-type'] = rawBody;
}
