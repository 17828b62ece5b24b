// What a page says of a sign-in that did not succeed: in our own words, with the code of an issuer but never its text.
import { AppError, errorTable } from '#libs/schemas/errors.js';
import type { PageWords } from './page-words.js';

export interface PageFailure {
  status: number;
  heading: string;
  text: string;
  code: string;
}

export function describeFailure(error: AppError, words: PageWords): PageFailure {
  const code = issuerCode(error) ?? error.code;
  // An answer of the tool server or its issuer, as a gateway says it.
  const status = errorTable[error.code].type === 'tool_execution_error' ? 502 : error.http;
  const about = (heading: string, text: string) => ({ status, heading, text, code });
  if (code === 'access_denied') return about(words.deniedHeading, words.deniedText);
  if (issuerCode(error) !== undefined) return about(words.refusedHeading, words.refusedText);
  switch (error.code) {
    case 'not_found':
      return about(words.overHeading, words.overText);
    case 'rate_limit_exceeded':
      return about(words.busyHeading, words.busyText);
    case 'invalid_value':
      return error.param === 'iss'
        ? about(words.foreignHeading, words.foreignText)
        : about(words.invalidHeading, words.invalidText);
    case 'tool_unavailable':
    case 'tool_denied':
    case 'store_unavailable':
      return about(words.awayHeading, words.awayText);
    default:
      return about(words.failedHeading, words.failedText);
  }
}

/** Errors of the engine have it if an issuer refused. */
const issuerCode = (error: AppError): string | undefined =>
  'reason' in error && typeof error.reason === 'string' ? error.reason : undefined;
