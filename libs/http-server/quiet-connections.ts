// At a stop, idle connections are closed at once. Node's own closeIdleConnections leaves those that never sent a
// request, or only half of one, open for a minute. Requests in progress are never touched.
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { countExchange, exchangesOn } from './exchanges.js';

export class QuietConnections {
  private readonly open = new Set<Socket>();
  private closing = false;

  constructor(server: Server) {
    server.on('connection', (socket) => {
      this.open.add(socket);
      socket.once('close', () => this.open.delete(socket));
    });
    server.on('request', (request, answer) => {
      countExchange(request, answer);
      if (this.closing) endAfter(request.socket, answer);
    });
  }

  /** From now on no connection stays open without a request. Call it before the server's own close. */
  close(): void {
    this.closing = true;
    for (const socket of this.open) {
      const answers = exchangesOn(socket);
      if (answers.size === 0) socket.destroy();
      for (const answer of answers.keys()) endAfter(socket, answer);
    }
  }
}

function endAfter(socket: Socket, answer: ServerResponse): void {
  answer.once('close', () => {
    if (exchangesOn(socket).size === 0) socket.end();
  });
}
