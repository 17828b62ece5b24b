// A time limit for AbortSignal.any(). On Node 20, a timeout signal that is referenced only through AbortSignal.any() can be
// garbage collected, and then never fires.

/** Like AbortSignal.timeout(), but referenced until it fires. */
export function abortAfter(ms: number): AbortSignal {
  const limit = new AbortController();
  const end = () => limit.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  setTimeout(end, ms).unref();
  return limit.signal;
}
