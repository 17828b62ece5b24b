// What a page says of an error, its code, and the request to ask an operator about. The gateway's own sentences are English, and say
// more than the words of their codes.
import { SignalboxError } from '@signalbox/client';
import type { Language } from '../i18n/language.js';
import { errorWords } from './error-words.js';

export interface ShownFailure {
  sentence: string;
  code?: string;
  requestId?: string;
}

/** What an error says in the language of the page; the gateway's own sentence if its code has no words. */
export const sentenceOf = ({ message, code }: { message: string; code?: string }, language: Language): string =>
  language === 'en' || code === undefined ? message : (errorWords(code, language) ?? message);

export function describeFailure(error: unknown, language: Language): ShownFailure {
  if (error instanceof SignalboxError) {
    const { code, requestId } = error;
    return { sentence: sentenceOf(error, language), code, ...(requestId === undefined ? {} : { requestId }) };
  }
  return { sentence: error instanceof Error ? error.message : String(error) };
}
