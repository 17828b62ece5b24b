// Connects to MCP servers, which are programs or reachable over HTTP, within the time that a start may take. Uses earlier
// discoveries about the server. A server that refuses the newer greeting gets the older one.
import type { PriorDiscovery, Transport } from '@modelcontextprotocol/client';
import { unlessAborted } from '#libs/concurrency/unless-aborted.js';
import { AppError } from '#libs/schemas/errors.js';
import { asConnectError, isUnknownToHttp, mayBeOlder, rootOf } from './connection-errors.js';
import type { ConnectOptions, EstablishOptions } from './connect-options.js';
import { ClientConnection, type ToolConnection } from './connection.js';
import { connectKnowing, type Discovery, readDiscovery } from './discovery.js';
import { GuardedTransport } from '../wire/guarded-transport.js';
import { sseTransport, streamableTransport, type HttpOptions } from '../wire/http-transports.js';
import { StdioTransport, type StdioOptions } from '../wire/stdio-transport.js';

const legacy: PriorDiscovery = { kind: 'legacy' };

/** The server answered the newer greeting after the older one had been sent, which it does not understand. */
class AnsweredLate extends AppError {
  constructor(
    { message, cause }: AppError,
    readonly discovery: Discovery,
  ) {
    super('tool_unavailable', message, { cause });
  }
}

/** @throws AppError tool_unavailable, after the process has ended completely */
export function connectStdio(process: StdioOptions, options: ConnectOptions): Promise<ToolConnection> {
  return connectInTime(options, async (known, given) => {
    // Compared to the start of a process, detecting the newer era again is cheap.
    const prior = known?.kind === 'legacy' ? known : undefined;
    const first = new StdioTransport(process);
    try {
      return await establish(first, { ...given, prior, isModern: known?.kind === 'modern' });
    } catch (error) {
      if (prior !== undefined || options.signal.aborted) throw error;
      const late = error instanceof AnsweredLate ? error.discovery : undefined;
      if (late !== undefined) {
        options.memory?.keep(late);
        if (given.signal.aborted) throw error;
        return establish(new StdioTransport(process), { ...given, isModern: true });
      }
      // The unknown greeting may have caused the delay, so the next start does not send it.
      if (given.signal.aborted) options.memory?.keep(legacy);
      // Some old servers exit on an unknown greeting: try once more with the old one.
      if (given.signal.aborted || first.failure?.code !== 'tool_crashed') throw error;
      return establish(new StdioTransport(process), { ...given, prior: legacy });
    }
  });
}

/** @throws AppError tool_unavailable */
export function connectHttp(http: HttpOptions, options: ConnectOptions): Promise<ToolConnection> {
  return connectInTime(options, async (known, given) => {
    const streamable = (prior?: PriorDiscovery) => establish(streamableTransport(http), { ...given, prior }, 'http');
    // HTTP+SSE exists only in the older era.
    const sse = () => establish(sseTransport(http), { ...given, prior: legacy }, 'sse');
    const transport = http.transport ?? known?.transport;
    if (transport === 'sse') return sse();
    const connecting = streamable(known).catch((error: unknown) => {
      if (known !== undefined || given.signal.aborted || !mayBeOlder(error)) throw error;
      return streamable(legacy);
    });
    return connecting.catch((error: unknown) => {
      if (transport === 'http' || given.signal.aborted || !isUnknownToHttp(error)) throw error;
      return sse().catch(() => {
        throw error;
      });
    });
  });
}

function connectInTime(
  options: ConnectOptions,
  connect: (known: Discovery | undefined, given: ConnectOptions) => Promise<ToolConnection>,
): Promise<ToolConnection> {
  const { memory, startTimeoutMs } = options;
  return connectKnowing(memory, options.signal, async (known) => {
    const limit = new AbortController();
    const why = `it was not ready within ${startTimeoutMs} ms, which is its start_timeout_ms`;
    const timer = setTimeout(() => limit.abort(new AppError('tool_timeout', why)), startTimeoutMs);
    try {
      return await connect(known, { ...options, signal: AbortSignal.any([options.signal, limit.signal]) });
    } finally {
      clearTimeout(timer);
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
  const { signal } = options;
  const connection = new ClientConnection(guard, options);
  try {
    await unlessAborted(connection.open(signal), signal);
  } catch (error) {
    const failure = connection.failure;
    await guard.close().catch(() => undefined);
    const known = options.needed?.(rootOf(failure ?? error)) ?? asConnectError(failure ?? error);
    const late = readDiscovery({ kind: 'modern', discover: guard.lateDiscovery });
    throw late === undefined ? known : new AnsweredLate(known, late);
  }
  options.memory?.keep({ ...connection.discovery, ...(over === undefined ? {} : { transport: over }) });
  return connection;
}
