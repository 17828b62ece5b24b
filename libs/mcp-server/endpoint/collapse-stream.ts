// Turns the SDK's stream into one JSON body, for a caller that accepts no stream.
import { createParser } from 'eventsource-parser';
import { AppError } from '#libs/schemas/errors.js';
import type { McpFrames } from './read-frames.js';

/** Reads the stream to its end. @throws AppError cancelled if the client cancelled its request */
export async function collapseStream(response: Response, frames: McpFrames): Promise<Response> {
  if (!isStream(response)) return response;
  const answers: unknown[] = [];
  const parser = createParser({
    onEvent: ({ data }) => {
      const message = JSON.parse(data) as object;
      if ('result' in message || 'error' in message) answers.push(message);
    },
  });
  parser.feed(await response.text());
  if (answers.length < frames.requests.length) throw new AppError('cancelled', 'The request was cancelled');
  const session = response.headers.get('mcp-session-id');
  return Response.json(frames.batch ? answers : answers[0], {
    headers: session === null ? {} : { 'mcp-session-id': session },
  });
}

export const isStream = ({ headers }: Response): boolean =>
  headers.get('content-type')?.startsWith('text/event-stream') === true;
