// Renders an error that ends a stream of chunks: the usual error object as a `data:` line, without `[DONE]` after it.
import { renderError } from '#libs/http-server/render-error.js';
import type { AppError } from '#libs/schemas/errors.js';

export const renderChunkError = (error: AppError, requestId: string): string =>
  `data: ${JSON.stringify(renderError(error, requestId))}\n\n`;
