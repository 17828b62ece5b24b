// Lets uploads through as the stream they are, whatever their Content-Type says: only the files route sees them so.
import type { FastifyInstance, FastifyRequest } from 'fastify';

export const filesRoute = '/api/sessions/:id/files/*';

/** No client sends it: names the parser that passes the body on unread. */
const rawBody = 'application/vnd.signalbox.file';

/** Call it before the application listens. No body limit applies there: the quota of the workspace does. */
export function registerFileUploads(fastify: FastifyInstance): void {
  fastify.addContentTypeParser(rawBody, (_request, body, done) => done(null, body));
}

/** Selects that parser for uploads, and for nothing else. */
export function markUpload(request: FastifyRequest): void {
  const { headers } = request.raw;
  if (headers['content-type']?.toLowerCase().startsWith(rawBody) === true) headers['content-type'] = '';
  if (request.method === 'PUT' && request.routeOptions.url === filesRoute) headers['content-type'] = rawBody;
}
