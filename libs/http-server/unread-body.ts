// Reads on what a client still sends of a body after its answer, for a bounded time. Many clients read an answer only when they
// have sent everything: if the connection closed before, they would see a reset in place of the answer.
import type { IncomingMessage, ServerResponse } from 'node:http';

const longestMs = 10_000;

/** Call it before the answer is sent. If the body does not end in time, the connection is closed. */
export function readOn(request: IncomingMessage, answer: ServerResponse): void {
  answer.once('finish', () => {
    if (request.complete || request.destroyed) return;
    const timer = setTimeout(() => request.destroy(), longestMs).unref();
    request.once('close', () => clearTimeout(timer));
    request.resume();
  });
}
