// Protects operator routes (metrics, API pages): open to callers on this machine; others must present METRICS_TOKEN.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { hostAllowed } from '#libs/http-server/allowed-caller.js';
import { AppError } from '#libs/schemas/errors.js';

export interface OperatorRequest {
  address: string;
  /** True if the request was forwarded by a proxy: then the address says nothing about the caller. */
  forwarded: boolean;
  /** Checked because a page loaded through DNS rebinding also connects from this machine. */
  host: string | undefined;
  authorization: string | undefined;
  admitted?: boolean;
}

const ownNames = new Set(['localhost']);
const admittedRequests = new WeakSet<object>();

/** Marks a request that had a key with the scope `admin`. */
export const admitAsOperator = (request: IncomingMessage): void => void admittedRequests.add(request);

export class OperatorAccess {
  constructor(private readonly token: string | undefined) {}

  /** @throws AppError invalid_api_key, insufficient_scope */
  admit({ address, forwarded, host, authorization, admitted }: OperatorRequest): void {
    if (admitted === true) return;
    if (!forwarded && isLoopbackAddress(address) && hostAllowed(host, ownNames)) return;
    if (this.token === undefined) {
      throw new AppError('insufficient_scope', 'This is for callers on the same machine unless METRICS_TOKEN is set');
    }
    const given = /^Bearer (.+)$/i.exec(authorization ?? '')?.[1];
    if (given === undefined || !same(given, this.token)) {
      throw new AppError('invalid_api_key', 'This needs the bearer token of METRICS_TOKEN');
    }
  }
}

export function operatorRequest(request: Pick<IncomingMessage, 'headers' | 'socket'>): OperatorRequest {
  const { headers, socket } = request;
  return {
    admitted: admittedRequests.has(request),
    address: socket.remoteAddress ?? '',
    forwarded: headers['x-forwarded-for'] !== undefined || headers['forwarded'] !== undefined,
    host: headers.host,
    authorization: headers.authorization,
  };
}

function isLoopbackAddress(address: string): boolean {
  return address === '::1' || /^(?:::ffff:)?127\./.test(address);
}

/** Compares hashes, so that every wrong guess takes the same time. */
function same(given: string, wanted: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(given), hash(wanted));
}
