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

export function describeFailure(error: unknown, language: Language): ShownFailure {
  if (error instanceof SignalboxError) {
    const { message, code, requestId } = error;
    const sentence = language === 'en' ? message : (errorWords(code, language) ?? message);
    return { sentence, code, ...(requestId === undefined ? {} : { requestId }) };
  }
  return { sentence: error instanceof Error ? error.message : String(error) };
}
