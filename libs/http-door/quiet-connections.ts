// At a stop, connections on which nothing is being asked are closed at once. Node's own closeIdleConnections leaves those
// that never sent a request, or half of one, open for a minute. Requests under way are never touched.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export class QuietConnections {
  /** Open connections and how many requests are under way on each. */
  readonly #requests = new Map<Socket, number>();
  #closing = false;

  constructor(server: Server) {
    server.on('connection', (socket) => {
      this.#requests.set(socket, 0);
      socket.once('close', () => this.#requests.delete(socket));
    });
    server.on('request', ({ socket }, answer) => {
      this.#count(socket, 1);
      answer.once('close', () => {
        this.#count(socket, -1);
        if (this.#closing && this.#requests.get(socket) === 0) socket.end();
      });
    });
  }

  /** From now on no connection stays open without a request. Call it before the server's own close. */
  close(): void {
    this.#closing = true;
    for (const [socket, requests] of this.#requests) if (requests === 0) socket.destroy();
  }

  #count(socket: Socket, change: number): void {
    const requests = this.#requests.get(socket);
    if (requests !== undefined) this.#requests.set(socket, requests + change);
  }
}
