// Says why a request got no answer: `fetch` itself says only that the request failed.

/** The end of a sentence that names the address. */
export function whyUnreachable(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = (cause as { code?: unknown }).code;
  switch (code) {
    case 'ECONNREFUSED':
      return 'nothing listens there (ECONNREFUSED)';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `there is no such host (${code})`;
    default:
      break;
  }
  if (cause instanceof Error && cause.name === 'TimeoutError') return 'it did not answer in time';
  if (cause instanceof SyntaxError) return 'its answer is not JSON';
  return cause instanceof Error ? cause.message : 'unknown';
}
