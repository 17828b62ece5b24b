// Answers input that never becomes a request (broken framing, endless headers, undecodable addresses) in the
// same form as every other failure. Quotes nothing of the input.
import { type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintRequestId } from '#libs/schemas/identifiers.js';
import { lastReply } from './connections.js';
import { renderError } from './render-error.js';
import { answerUnread } from './unread-body.js';

/** Options of Fastify. */
export interface RefusalHandlers {
  frameworkErrors(error: Error, request: FastifyRequest, reply: FastifyReply): void;
  clientErrorHandler(error: NodeJS.ErrnoException, socket: Socket): void;
}

/** Each refusal is reported to `observe` and has one log line. */
export function refusalHandlers(logger: Logger, observe: (error: AppError) => void): RefusalHandlers {
  const note = (error: AppError, requestId: string) => {
    observe(error);
    const reason = (error.cause as { code?: unknown } | undefined)?.code;
    const metadata = { status: error.http, ...(typeof reason === 'string' && { reason }) };
    logger[error.row.level]({ requestId, metadata }, `request refused: ${error.message}`);
  };
  return {
    frameworkErrors(thrown, request, reply) {
      const error = unreadableAddress(thrown);
      const requestId = mintRequestId();
      note(error, requestId);
      const body = JSON.stringify(renderError(error, requestId));
      answerUnread(request.raw, reply.raw, { status: error.http, headers: headersOf(body, requestId), text: body });
    },
    clientErrorHandler(thrown, socket) {
      const reply = lastReply(socket);
      const answering = reply !== undefined && !reply.raw.writableFinished;
      // The client has disconnected, or is receiving an answer: it would not read a second one.
      if (thrown.code === 'ECONNRESET' || !socket.writable || (answering && reply.raw.headersSent)) {
        socket.destroy(thrown);
        return;
      }
      const error = brokenRequest(thrown);
      const given = answering ? reply.getHeader('x-request-id') : undefined;
      const requestId = typeof given === 'string' ? given : mintRequestId();
      // The reader of that request's body gets the error and reports it.
      if (!answering) note(error, requestId);
      socket.end(rawAnswer(error, requestId), () => socket.destroy(thrown));
    },
  };
}

/** An unknown `Expect` is ignored (RFC 9110, 10.1.1). */
export function ignoreExpectations(server: Server): void {
  server.on('checkExpectation', (request, answer) => server.emit('request', request, answer));
}

function unreadableAddress(thrown: Error): AppError {
  const code = (thrown as { code?: unknown }).code;
  if (code === 'FST_ERR_BAD_URL') {
    return new AppError('invalid_value', 'The address is not validly encoded', { cause: thrown });
  }
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') {
    return new AppError('not_found', 'There is nothing at this address', { cause: thrown });
  }
  return new AppError('internal_error', 'Internal error', { cause: thrown });
}

function brokenRequest(thrown: NodeJS.ErrnoException): AppError {
  switch (thrown.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new AppError('request_too_large', 'The address and headers are too long', {
        param: 'headers',
        cause: thrown,
      });
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new AppError('request_too_large', 'The request body is too large', { cause: thrown });
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new AppError('invalid_value', 'The request took too long to arrive', { http: 408, cause: thrown });
    default:
      return new AppError('invalid_value', 'This is not a valid HTTP request', { cause: thrown });
  }
}

const headersOf = (body: string, requestId: string) => ({
  'content-type': 'application/json; charset=utf-8',
  'content-length': String(Buffer.byteLength(body)),
  'x-request-id': requestId,
});

function rawAnswer(error: AppError, requestId: string): string {
  const body = JSON.stringify(renderError(error, requestId));
  const headers = Object.entries({ ...headersOf(body, requestId), connection: 'close' });
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `HTTP/1.1 ${error.http} ${STATUS_CODES[error.http] ?? ''}\r\n${lines}\r\n${body}`;
}
