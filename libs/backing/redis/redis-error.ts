// Distinguishes a Redis that is unavailable, starting, failing over or full from an invalid command.
import { storeFull, StoreRefuses } from '#libs/store-error/store-error.js';

/** Answers of a server that cannot serve now; the same command may succeed later. */
const awayAnswers = /^(LOADING|CLUSTERDOWN|MASTERDOWN|READONLY|TRYAGAIN|NOREPLICAS|UNBLOCKED|BUSY|MISCONF) /;

/** Messages of ioredis errors without a code, also from a cluster client. */
const clientMessages =
  /^Connection is closed|^Command timed out|^Command aborted|^Stream isn't writeable|^Ready check failed|startup nodes|slots cache|^Cluster (?:is|isn't) |^Too many Cluster redirections|^Timeout|[Ss]entinels are unreachable|^connect ETIMEDOUT|No subscriber for the cluster/;

/** An answer that rejects our user name or password. */
export const accessAnswers = /^(?:WRONGPASS|NOAUTH|NOPERM|ERR (?:invalid password|AUTH ))|invalid username-password/;

/** An Error whose code says that the store is unavailable; any other error unchanged. */
export function toRedisError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (/(?:^|: )OOM /.test(error.message)) return storeFull(error);
  const answer = awayAnswers.exec(error.message);
  if (answer !== null) return new StoreRefuses(answer[1]!, error);
  const away = error.name === 'MaxRetriesPerRequestError' || clientMessages.test(error.message);
  return away
    ? Object.assign(new Error('The store is not reachable', { cause: error }), { code: 'ECONNRESET' })
    : error;
}
