// Distinguishes a store that is away from a wrong statement, and puts a deadline on every wait for the store.
// Shown messages never carry the driver's words, which name hosts, users and files.
import { setMaxListeners } from 'node:events';
import { AppError, type AppErrorDetails } from '#libs/schemas/errors.js';

export function storeUnavailable(message: string, cause?: unknown): AppError {
  const details: AppErrorDetails = { retryAfterSeconds: 1 };
  if (cause !== undefined) details.cause = cause;
  return new AppError('store_unavailable', message, details);
}

/** The store answers, and takes nothing more: another try fails until there is room. */
export const storeFull = (cause: unknown): AppError => storeUnavailable('The store is full', cause);

/** The store answers, and cannot serve now: loading its data, read-only, without a disk. Another try may succeed. */
export class StoreRefuses extends Error {
  readonly code = 'ECONNRESET';

  /** `word`: the server's own word for its state, of a fixed set. */
  constructor(word: string, cause: unknown) {
    super(`The store cannot serve now (${word})`, { cause });
  }
}

/** Codes of Node for a peer that cannot be reached (ENOENT: a unix socket without its server), and of Prisma. */
const connectionCodes = /^(?:E(?:CONN\w*|PIPE|TIMEDOUT|NOTFOUND|HOSTUNREACH|NETUNREACH|NOENT|AI_\w+)|P1\d{3}|P2024)$/;

/** Connection, transaction rollback, resources, operator intervention (statement timeout too), system; read-only; locks. */
const awayStates = /^(?:08|40|53|57|58|25006|55P03)/;

/** Errors of pg and Prisma's adapter that have no code. */
const driverMessages =
  /Connection terminated|timeout exceeded when trying to connect|^timeout expired$|Query read timeout|not queryable|connection (?:closed|error)|Client was closed|after calling end|DatabaseNotReachable|ConnectionClosed|SocketTimeout/i;

/** Timeouts of pg and ioredis. */
const driverTimeouts =
  /^(?:timeout exceeded when trying to connect|timeout expired|Connection terminated due to connection timeout|Query read timeout|Command timed out)$/;

/** SQLSTATE of an error of pg or Prisma, at whatever depth. */
export function sqlStateOf(error: unknown): string | undefined {
  return findIn(error, (record) => {
    for (const code of [record['originalCode'], record['code']]) {
      if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !/^P\d{4}$|^E[A-Z]{4}$/.test(code)) return code;
    }
    return undefined;
  });
}

/** Whether `error` says that the store is away or overloaded, so that the same statement may succeed later. */
export function isStoreAway(error: unknown): boolean {
  if (error instanceof AppError) return error.code === 'store_unavailable';
  const state = sqlStateOf(error);
  if (state !== undefined) return awayStates.test(state);
  return findIn(error, saysConnectionFailed) === true;
}

function saysConnectionFailed({ code, kind, message }: Record<string, unknown>): true | undefined {
  const failed =
    (typeof code === 'string' && connectionCodes.test(code)) ||
    [kind, message].some((text) => typeof text === 'string' && driverMessages.test(text));
  return failed ? true : undefined;
}

/** Looks through an error, its causes, and the members in which Prisma wraps the driver's error. */
function findIn<T>(error: unknown, pick: (record: Record<string, unknown>) => T | undefined, depth = 0): T | undefined {
  if (typeof error !== 'object' || error === null || depth > 6) return undefined;
  const record = error as Record<string, unknown>;
  const here = pick(record);
  if (here !== undefined) return here;
  const errors = Array.isArray(record['errors']) ? (record['errors'] as unknown[]) : [];
  for (const next of [record['cause'], record['meta'], record['driverAdapterError'], ...errors]) {
    const found = findIn(next, pick, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether only a driver's own clock ran out, in whatever words: the store has said nothing, and may be slow. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && (driverTimeouts.test(error.message) || isUnanswered(error.cause));
}

/** PostgreSQL's disk_full. */
const diskFull = '53100';

/** The error that a port throws for its driver's. */
export function toStoreError(error: unknown): unknown {
  if (error instanceof AppError || !isStoreAway(error)) return error;
  const { cause } = error as { cause?: unknown };
  for (const refusal of [error, cause]) {
    if (refusal instanceof StoreRefuses) return storeUnavailable(refusal.message, refusal);
  }
  if (sqlStateOf(error) === diskFull) return storeFull(error);
  return storeUnavailable('The store is not reachable', error);
}

/** A store that tells when it last answered anybody in this process. */
export interface Answering {
  /** `performance.now()` then. */
  readonly answeredAt: number;
}

/** With a store: the time since the store last answered anybody. */
export type StoreDeadline = number | { timeoutMs: number; store: Answering };

/**
 * Waits for `work` at most until the deadline and while `signal` holds. Work that is given up goes on in the background: it
 * must end by itself (statement and read timeouts do that) and be harmless when it succeeds late.
 * @throws AppError store_unavailable at the deadline, also where the signal is one; else the signal's reason
 */
export function withinDeadline<T>(
  deadline: StoreDeadline,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const { timeoutMs, store } = typeof deadline === 'number' ? { timeoutMs: deadline } : deadline;
  return new Promise<T>((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(reasonOf(signal));
      return;
    }
    const onAbort = () => settle(() => reject(reasonOf(signal!)));
    let timer: NodeJS.Timeout | undefined;
    let settled = false;
    const late = () => {
      if (settled) return;
      const left = store === undefined ? 0 : store.answeredAt + timeoutMs - performance.now();
      if (left > 0) wait(left);
      else settle(() => reject(storeUnavailable('The store did not answer in time')));
    };
    // A process that was held up itself reads answers only after its timers.
    const wait = (ms: number) => (timer = setTimeout(() => setImmediate(late), ms));
    const settle = (outcome: () => void) => {
      settled = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      outcome();
    };
    if (signal !== undefined) {
      // A caller's one signal may stand over many calls at once: Node would warn of a leak.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', onAbort, { once: true });
    }
    wait(timeoutMs);
    work().then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(asError(toStoreError(error)))),
    );
  });
}

/** A signal may be a time limit: then the store did not answer in time. */
function reasonOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  if (reason instanceof DOMException && reason.name === 'TimeoutError') {
    return storeUnavailable('The store did not answer in time', reason);
  }
  return asError(reason);
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error('Aborted', { cause: thrown });
}
