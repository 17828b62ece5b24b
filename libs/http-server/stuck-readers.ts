// Disconnects clients that do not read their answers, including files: unread data, the connection and its source stay
// in memory. A client that waits for a slow answer is not affected.
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { countExchange, exchangesOn } from './exchanges.js';

export interface ReaderBound {
  /** A client that reads nothing for this long is disconnected, after twice the time at the latest. */
  stuckReaderMs: number;
  onDropped: () => void;
}

const drops = new WeakMap<Socket, () => void>();

export function boundReaders(server: Server, { stuckReaderMs, onDropped }: ReaderBound): void {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    drops.set(socket, () => {
      if (socket.destroyed) return;
      onDropped();
      socket.destroy();
    });
  });
  server.on('request', countExchange);
  // Checked periodically, so that no request pays for it. From then on Node watches: sent bytes, even a few of many,
  // restart the timeout, and the end of the answer ends it.
  const look = setInterval(() => {
    for (const socket of open) if (socket.writableLength > 0 && !socket.timeout) socket.setTimeout(stuckReaderMs);
  }, stuckReaderMs).unref();
  server.once('close', () => clearInterval(look));
  server.on('timeout', (socket: Socket) => {
    if (exchangesOn(socket).size === 0) socket.destroy();
    else if (socket.writableLength > 0) drops.get(socket)?.();
  });
}

/** Resolves when more can be written or the client is gone; disconnects one that reads nothing for this long. */
export function readerReady(answer: ServerResponse, stuckReaderMs: number): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      clearTimeout(stuck);
      answer.off('drain', settle);
      answer.off('close', settle);
      resolve();
    };
    const stuck = setTimeout(() => dropReader(answer), stuckReaderMs);
    answer.once('drain', settle);
    answer.once('close', settle);
    if (answer.destroyed) settle();
  });
}

/** For a stream's writer that has waited long enough for its reader. */
export function dropReader(answer: ServerResponse): void {
  const drop = answer.socket === null ? undefined : drops.get(answer.socket);
  if (drop === undefined) answer.destroy();
  else drop();
}
