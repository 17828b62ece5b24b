// What a page says of an error: the gateway's own sentence, its code, and the request to ask an operator about.
import { SignalboxError } from '@signalbox/client';

export interface ShownFailure {
  sentence: string;
  code?: string;
  requestId?: string;
}

export function describeFailure(error: unknown): ShownFailure {
  if (error instanceof SignalboxError) {
    const { message, code, requestId } = error;
    return { sentence: message, code, ...(requestId === undefined ? {} : { requestId }) };
  }
  return { sentence: error instanceof Error ? error.message : String(error) };
}
