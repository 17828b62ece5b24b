// Lets go of clients that ask and do not take their answers, whole ones and files too: what they are sent stays in memory,
// with the connection and what the answer is read from. Who waits for an answer that is long in coming is left alone.
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { countExchange, exchangesOn } from './exchanges.js';

export interface ReaderBound {
  /** A reader that takes nothing for so long is dropped, and at the latest after twice the time. */
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
  // Looked at now and then, so that no request pays for it. From there on Node watches: bytes that go out, a few of many too,
  // begin its time anew, and the end of the answer ends it.
  const look = setInterval(() => {
    for (const socket of open) if (socket.writableLength > 0 && !socket.timeout) socket.setTimeout(stuckReaderMs);
  }, stuckReaderMs).unref();
  server.once('close', () => clearInterval(look));
  server.on('timeout', (socket: Socket) => {
    if (exchangesOn(socket).size === 0) socket.destroy();
    else if (socket.writableLength > 0) drops.get(socket)?.();
  });
}

/** Resolves when more can be written, or the client has gone; who takes nothing for so long is dropped. */
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

/** For who writes a stream and has waited long enough for its reader. */
export function dropReader(answer: ServerResponse): void {
  const drop = answer.socket === null ? undefined : drops.get(answer.socket);
  if (drop === undefined) answer.destroy();
  else drop();
}
