// Answers a request of an MCP client: counts and logs its error, and converts the error to JSON-RPC's.
import { ProtocolError, type ServerContext } from '@modelcontextprotocol/server';
import { logFailure } from '#libs/logging/log-failure.js';
import type { Logger } from '#libs/logging/logger.js';
import { exchangeOf } from '#libs/mcp-server/endpoint/exchange.js';
import { toProtocolError } from '#libs/mcp-server/endpoint/rpc-error.js';
import { type AppError, toAppError } from '#libs/schemas/errors.js';

export interface AnswerPorts {
  logger: Logger;
  observeError: (error: AppError) => void;
}

export async function answer<T>(ports: AnswerPorts, request: ServerContext, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    // Written for the client as it is.
    if (thrown instanceof ProtocolError) throw thrown;
    const error = toAppError(thrown);
    const { context } = exchangeOf(request.http?.req);
    const { requestId } = context;
    ports.observeError(error);
    logFailure(ports.logger, error, context);
    throw toProtocolError(error, requestId);
  }
}
