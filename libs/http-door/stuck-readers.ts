// Lets go of clients that ask and do not take their answers, whole ones and files too: what they are sent stays in memory,
// with the connection and what the answer is read from. Who waits for an answer that is long in coming is left alone.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface ReaderBound {
  /** A reader that takes nothing for so long is dropped. */
  stuckReaderMs: number;
  onDropped: () => void;
}

const drops = new WeakMap<Socket, () => void>();

export function boundReaders(server: Server, { stuckReaderMs, onDropped }: ReaderBound): void {
  const underWay = new WeakMap<Socket, number>();
  const drop = (socket: Socket) => {
    if (socket.destroyed) return;
    onDropped();
    socket.destroy();
  };
  // Before whoever answers.
  server.prependListener('request', ({ socket }: IncomingMessage, answer: ServerResponse) => {
    underWay.set(socket, (underWay.get(socket) ?? 0) + 1);
    answer.once('close', () => underWay.set(socket, underWay.get(socket)! - 1));
    if (!drops.has(socket)) drops.set(socket, () => drop(socket));
    // Node sets its own when the answer has ended. Bytes that go out, a few of many too, begin the time anew.
    socket.setTimeout(stuckReaderMs);
  });
  server.on('timeout', (socket: Socket) => {
    if ((underWay.get(socket) ?? 0) === 0) socket.destroy();
    else if (socket.writableLength > 0) drop(socket);
  });
}

/** For who writes a stream and has waited long enough for its reader. */
export function dropReader(answer: ServerResponse): void {
  const drop = answer.socket === null ? undefined : drops.get(answer.socket);
  if (drop === undefined) answer.destroy();
  else drop();
}
