// What breaks a stream of chunks: the same error as everywhere, as a `data:` line. No `[DONE]` follows.
import { renderError } from '#libs/http-server/render-error.js';
import type { AppError } from '#libs/schemas/errors.js';

export const renderChunkError = (error: AppError, requestId: string): string =>
  `data: ${JSON.stringify(renderError(error, requestId))}\n\n`;
