// /metrics on a port of its own (`metrics.port`), so that a network policy can let Prometheus reach the metrics and nothing
// else. The port serves no other address.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { ConfigError } from '#libs/config/config-error.js';
import type { Config } from '#libs/config/schema.js';
import { boundServer, mayBeAnswered } from '#libs/http-server/connections.js';
import { ignoreExpectations, refusalHandlers } from '#libs/http-server/refused-requests.js';
import { renderError } from '#libs/http-server/render-error.js';
import { logFailure } from '#libs/logging/log-failure.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Scrape } from '#libs/metrics/scrape.js';
import { listeningPort } from '#libs/process/listening-port.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import { mintRequestId } from '#libs/schemas/identifiers.js';
import { type OperatorAccess, operatorRequest } from './operator-access.js';

export interface MetricsPortParts {
  scrape: Pick<Scrape, 'contentType' | 'text'>;
  access: OperatorAccess;
  onBound: (limit: string) => void;
  logger: Logger;
}

export interface MetricsPort {
  close(): Promise<void>;
}

/** Undefined without `metrics.port`: /metrics is then on the port of the process. @throws ConfigError if it cannot be opened */
export async function openMetricsPort(
  { server: { host, stuck_reader_ms: stuckReaderMs }, metrics: { port } }: Pick<Config, 'server' | 'metrics'>,
  parts: MetricsPortParts,
): Promise<MetricsPort | undefined> {
  if (port === undefined) return undefined;
  const { onBound, logger } = parts;
  const server = createServer((request, response) => void answer(request, response, parts));
  ignoreExpectations(server);
  boundServer(server, { stuckReaderMs, onBound, logger });
  server.on('clientError', refusalHandlers(logger, () => undefined).clientErrorHandler);
  await listen(server, port, host);
  logger.info({ metadata: { host, port: listeningPort(server) } }, 'metrics listen');
  return {
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'is in use by another process or by another port of this one' : `(${code})`;
    throw new ConfigError([{ key: 'metrics.port', message: `cannot listen on ${host}:${port}, which ${why}` }]);
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { scrape, access, logger }: MetricsPortParts,
): Promise<void> {
  try {
    if (!mayBeAnswered(request, response)) return;
    if (request.url?.split('?', 1)[0] !== '/metrics')
      throw new AppError('not_found', 'There is nothing at this address');
    if (request.method !== 'GET') throw new AppError('method_not_allowed', 'Allowed here: GET');
    access.admit(operatorRequest(request));
    const text = await scrape.text();
    response.writeHead(200, { 'content-type': scrape.contentType, 'cache-control': 'no-store' }).end(text);
  } catch (thrown) {
    const error = toAppError(thrown);
    const requestId = mintRequestId();
    logFailure(logger, error, { requestId });
    if (response.headersSent) response.destroy();
    else {
      response.writeHead(error.http, { 'content-type': 'application/json' });
      response.end(JSON.stringify(renderError(error, requestId)));
    }
  }
}
