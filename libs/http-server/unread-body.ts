// Answers a request whose body is not wanted any more. Many clients read an answer only when they have sent everything: if
// the connection closed before, they would see a reset in place of the answer.
import type { IncomingMessage, OutgoingHttpHeader, ServerResponse } from 'node:http';

/** The time for the rest of the body. */
const longestMs = 30_000;

/** Whether the client may still be sending a body. */
export function hasUnreadBody({ complete, headers }: IncomingMessage): boolean {
  return !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0);
}

/**
 * Writes the answer at once and whole, and ends it when the body has come to its end. Node may close the connection with the
 * end of an answer, and closing it with bytes unread is a reset. After the time the connection is closed.
 */
export function answerUnread(
  request: IncomingMessage,
  answer: ServerResponse,
  { status, headers, text }: { status: number; headers: Record<string, OutgoingHttpHeader | undefined>; text: string },
): void {
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) answer.setHeader(name, value);
  answer.setHeader('content-length', Buffer.byteLength(text));
  answer.writeHead(status);
  answer.write(text);
  const timer = setTimeout(() => request.destroy(), longestMs).unref();
  const end = () => {
    clearTimeout(timer);
    answer.end();
  };
  request.once('end', end);
  request.once('close', end);
  request.resume();
}
