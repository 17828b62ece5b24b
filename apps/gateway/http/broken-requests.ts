// What fails before there is a request to speak of: bytes that are no HTTP, headers without end, an address that cannot
// be decoded. Answered in the shape of every other error; it runs no hook and reads nothing further.
import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#libs/schemas/errors.js';
import { mintRequestId } from '#libs/schemas/identifiers.js';
import { renderError } from '../openai-api/render-error.js';

/** For Fastify's `frameworkErrors`: the router's own refusals. */
export function answerBadAddress(_error: Error, _request: FastifyRequest, reply: FastifyReply): void {
  const error = new AppError('invalid_value', 'The address cannot be read', { param: 'path' });
  const { head, body } = answerTo(error);
  reply.hijack();
  reply.raw.writeHead(error.http, head).end(body);
}

/** For Fastify's `clientErrorHandler`: what Node's parser refuses. The connection ends with the answer. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  // Nobody is left, or a response is under way on this connection: then there is only the end.
  // The same question as Node's own handler asks, which is the only one that knows.
  const { _httpMessage: response } = socket as Socket & { _httpMessage?: ServerResponse };
  if (error.code === 'ECONNRESET' || !socket.writable || response?.headersSent === true) {
    socket.destroy();
    return;
  }
  const shown = refusalOf(error.code);
  const { head, body } = answerTo(shown);
  const lines = Object.entries({ ...head, connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${shown.http} ${STATUS_CODES[shown.http] ?? ''}\r\n${lines.join('')}\r\n${body}`);
}

function refusalOf(code: string | undefined): AppError {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new AppError('request_too_large', 'The headers of the request are too large', { param: 'headers' });
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new AppError('invalid_value', 'The request did not arrive in time', { param: 'body' });
  }
  return new AppError('invalid_value', 'This is not a request that HTTP allows', { param: 'headers' });
}

function answerTo(error: AppError): { head: Record<string, string>; body: string } {
  const requestId = mintRequestId();
  const body = JSON.stringify(renderError(error, requestId));
  const head = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': requestId,
  };
  return { head, body };
}
