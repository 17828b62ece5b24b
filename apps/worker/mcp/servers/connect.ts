// Connects to MCP servers, which are programs or reachable over HTTP. Uses earlier discoveries about the server.
import type { Transport } from '@modelcontextprotocol/client';
import { abortAfter } from '#libs/concurrency/abort-after.js';
import { unlessAborted } from '#libs/concurrency/unless-aborted.js';
import { asConnectError, isUnknownToHttp } from './connection-errors.js';
import { ClientConnection, type ConnectOptions, type EstablishOptions, type ToolConnection } from './connection.js';
import { connectKnowing } from './discovery.js';
import { GuardedTransport } from '../wire/guarded-transport.js';
import { sseTransport, streamableTransport, type HttpOptions } from '../wire/http-transports.js';
import { StdioTransport, type StdioOptions } from '../wire/stdio-transport.js';

const connectTimeoutMs = 30_000;

/** @throws AppError tool_unavailable, after the process has ended completely */
export function connectStdio(process: StdioOptions, options: ConnectOptions): Promise<ToolConnection> {
  return connectKnowing(options.memory, options.signal, async (known) => {
    // Compared to the start of a process, detecting the newer era again is cheap.
    const prior = known?.kind === 'legacy' ? known : undefined;
    const first = new StdioTransport(process);
    try {
      return await establish(first, { ...options, prior });
    } catch (error) {
      // Some old servers exit on an unknown greeting: try once more with the old one.
      const ended = first.failure?.code === 'tool_crashed';
      if (!ended || prior !== undefined || options.signal.aborted) throw error;
      return establish(new StdioTransport(process), { ...options, prior: { kind: 'legacy' } });
    }
  });
}

/** @throws AppError tool_unavailable */
export function connectHttp(http: HttpOptions, options: ConnectOptions): Promise<ToolConnection> {
  return connectKnowing(options.memory, options.signal, async (known) => {
    const given = { ...options, prior: known };
    const sse = () => establish(sseTransport(http), given, 'sse');
    const transport = http.transport ?? known?.transport;
    if (transport === 'sse') return sse();
    try {
      return await establish(streamableTransport(http), given, 'http');
    } catch (error) {
      if (transport === 'http' || !isUnknownToHttp(error)) throw error;
      return sse().catch(() => {
        throw error;
      });
    }
  });
}

/** @throws AppError tool_unavailable, after the transport was closed */
export async function establish(
  transport: Transport,
  options: EstablishOptions,
  over?: 'http' | 'sse',
): Promise<ToolConnection> {
  const guard = new GuardedTransport(transport, {
    cancelGraceMs: options.cancelGraceMs,
    onBound: options.onBound,
    answered: [
      'ping',
      'elicitation/create',
      ...(options.root === undefined ? [] : ['roots/list']),
      ...(options.sampling === undefined ? [] : ['sampling/createMessage']),
    ],
  });
  const timeout = options.connectTimeoutMs ?? connectTimeoutMs;
  const connection = new ClientConnection(guard, options);
  const signal = AbortSignal.any([options.signal, abortAfter(timeout)]);
  try {
    await unlessAborted(connection.open(signal, timeout), signal);
  } catch (error) {
    const failure = connection.failure;
    await guard.close().catch(() => undefined);
    throw asConnectError(failure ?? error);
  }
  options.memory?.keep({ ...connection.discovery, ...(over === undefined ? {} : { transport: over }) });
  return connection;
}
