// The HTTP client of one model provider. An answer opens with its first byte, and failures become model errors.
import { once } from 'node:events';
import { connect } from 'node:net';
import type { ProviderConfig } from '#libs/config/schema.js';
import { HttpClient } from '#libs/http-client/http-client.js';
import type { HttpClientOptions, HttpFailure } from '#libs/http-client/outgoing.js';
import { AppError, type ErrorCode } from '#libs/schemas/errors.js';
import { cannotBeReached, type ProviderAccess } from './provider-failures.js';

const codes: Partial<Record<HttpFailure['kind'], ErrorCode>> = {
  connect: 'model_timeout',
  timeout: 'model_timeout',
  crowded: 'concurrency_exceeded',
  too_large: 'model_bad_response',
  cut: 'model_stream_cut',
};

type Bounds = Pick<ProviderConfig, 'timeout_ms' | 'max_concurrency' | 'max_response_bytes'>;

export function openUpstream(
  access: ProviderAccess,
  address: Pick<HttpClientOptions, 'baseUrl' | 'headers'>,
  bounds: Bounds,
): HttpClient {
  return new HttpClient({
    ...address,
    timeoutMs: bounds.timeout_ms,
    keepAliveMs: 15_000,
    maxExchanges: bounds.max_concurrency,
    maxBytes: bounds.max_response_bytes,
    opensAt: 'first_byte',
    toError: (failure) => {
      const { kind, what, cause } = failure;
      if (cause instanceof AppError) return cause;
      if (kind === 'cancelled') return new AppError('cancelled', 'The model call was cancelled');
      const code = codes[kind] ?? 'model_error';
      switch (kind) {
        case 'crowded':
          return new AppError(code, `Model provider '${access.name}' ${what}`, { retryAfterSeconds: 1 });
        case 'cut':
        case 'too_large':
          return new AppError(code, `Model provider '${access.name}' ${what}`, { cause });
        default:
          return new AppError(code, cannotBeReached(access, failure), { cause });
      }
    },
  });
}

/** Connects to the port of a provider that need not list its models. @throws AppError as a call would */
export async function reachUpstream(access: ProviderAccess, signal: AbortSignal): Promise<void> {
  const { hostname, port, protocol } = new URL(access.origin);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const socket = connect({ host, port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) });
  try {
    await once(socket, 'connect', { signal });
  } catch (cause) {
    const failure: HttpFailure = { kind: 'away', what: 'no answer to the connection', cause };
    throw new AppError('model_error', cannotBeReached(access, failure), { cause });
  } finally {
    socket.destroy();
  }
}
