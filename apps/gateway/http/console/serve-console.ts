// Serves the console: the files of dist/console, and its page for every other path below /console. The page is open to
// everyone, since it holds no data: what it shows it asks for by the API, with the caller's key.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { builtProgram } from '#libs/process/find-installed.js';

/** Browsers keep the assets: their names change with their content. */
const yearMs = 31_536_000_000;

const baseMark = '<base href="./" />';

/** `jwt`: where people may sign in, if not by an API key. */
export function serveConsole(
  fastify: FastifyInstance,
  jwt: { issuer: string; console_client_id?: string | undefined } | undefined,
): void {
  const directory = fileURLToPath(builtProgram('console'));
  const headers = pageHeaders(jwt?.console_client_id === undefined ? undefined : new URL(jwt.issuer).origin);
  const page = readFileSync(join(directory, 'index.html'), 'utf8');
  const send = (request: FastifyRequest, reply: FastifyReply) =>
    reply.headers(headers).type('text/html; charset=utf-8').send(pageAt(page, request.url));
  fastify.get('/console', (_request: FastifyRequest, reply: FastifyReply) => reply.redirect('console/'));
  fastify.get('/console/*', send);
  // Not awaited, as for the documentation: these routes need the error handler that Nest sets later.
  void fastify.register(fastifyStatic, {
    root: join(directory, 'assets'),
    prefix: '/console/assets/',
    decorateReply: false,
    preCompressed: true,
    immutable: true,
    maxAge: yearMs,
    setHeaders: (reply) => void reply.header('x-content-type-options', 'nosniff'),
  });
}

/**
 * The page for one path below /console. It names its files relative to `<base>`, and that relative to its own path: nobody has to
 * tell the gateway the path that a proxy puts before it.
 */
function pageAt(page: string, url: string): string {
  const below = url.split('?', 1)[0]!.slice('/console/'.length);
  const above = '../'.repeat(below.split('/').length - 1);
  return page.replace(baseMark, `<base href="${above === '' ? './' : above}" />`);
}

function pageHeaders(issuer: string | undefined): Record<string, string> {
  const connect = issuer === undefined ? '' : `; connect-src 'self' ${issuer}`;
  return {
    'content-security-policy': `default-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'${connect}`,
    'cache-control': 'no-cache',
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  };
}
