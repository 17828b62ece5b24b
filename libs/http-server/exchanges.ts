// Tracks which answers are in progress on each connection, for everything that bounds connections, ends them, or needs to
// know when a client disconnects. It runs for every request, so an exchange costs only one listener.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Answers in progress on a connection, each with a callback for a client that disconnects before it is complete. */
export type Exchanges = ReadonlyMap<ServerResponse, (() => void) | undefined>;
type Open = Map<ServerResponse, (() => void) | undefined>;

const none: Exchanges = new Map();
const onConnections = new WeakMap<Socket, Open>();

export function exchangesOn(socket: Socket): Exchanges {
  return onConnections.get(socket) ?? none;
}

/** Counts an exchange until its end, once. @returns all in progress on its connection */
export function countExchange({ socket }: Pick<IncomingMessage, 'socket'>, answer: ServerResponse): Exchanges {
  return counted(socket, answer);
}

/** `onGone` is called if the connection ends before the answer is complete, even if its turn has not come. */
export function whenGone(
  { socket }: Pick<IncomingMessage, 'socket'>,
  answer: ServerResponse,
  onGone: () => void,
): void {
  counted(socket, answer).set(answer, onGone);
}

function counted(socket: Socket, answer: ServerResponse): Open {
  const open = onConnections.get(socket) ?? watch(socket);
  if (!open.has(answer)) {
    open.set(answer, undefined);
    answer.once('close', () => end(open, answer));
  }
  return open;
}

/** An answer that waits for earlier ones has no connection yet, and Node would report its end only to the first one. */
function watch(socket: Socket): Open {
  const open: Open = new Map();
  onConnections.set(socket, open);
  socket.once('close', () => {
    for (const answer of open.keys()) end(open, answer);
  });
  return open;
}

function end(open: Open, answer: ServerResponse): void {
  const onGone = open.get(answer);
  if (open.delete(answer) && !answer.writableFinished) onGone?.();
}
