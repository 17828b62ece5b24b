// A time limit for AbortSignal.any(). What that links to AbortSignal.timeout() is let go with the garbage of Node 20 where
// nothing else holds it, and the time never ends.

/** As AbortSignal.timeout(), and held until then. */
export function abortAfter(ms: number): AbortSignal {
  const limit = new AbortController();
  const end = () => limit.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  setTimeout(end, ms).unref();
  return limit.signal;
}
