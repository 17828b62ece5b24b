// Bounds the connections of an HTTP server, beside Node's own settings: how many there are, how many requests each has in
// progress, clients that do not read their answers, and how connections end at a stop. An exchange costs one listener.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '#libs/logging/logger.js';
import { openFileLimit } from '#libs/process/open-file-limit.js';
import { AppError } from '#libs/schemas/errors.js';

/**
 * Requests that arrive on one connection before earlier ones are answered. Each runs at once, and half a megabyte can hold ten
 * thousand of them. No known client sends more; most send one.
 */
export const maxPipelined = 16;

export interface ServerBounds {
  /** A client that reads nothing for this long is disconnected, after twice the time at the latest, ms. */
  stuckReaderMs: number;
  /** Called for each connection that is refused or closed for this reason. */
  onBound: (limit: 'connections' | 'stuck_readers' | 'pipelined_requests') => void;
  logger: Logger;
  /** File descriptors of the process; default: as many as the system allows. */
  openFiles?: number;
}

export interface BoundedServer {
  /** From now on no connection stays open without a request. Call before the server's own close. */
  closeQuiet(): void;
}

interface Answer {
  readonly response: ServerResponse;
  /** Called for a client that disconnects before the answer is complete. */
  onGone: (() => void) | undefined;
  onEnd: (() => void) | undefined;
}

class Connection {
  /** Answers in progress. */
  readonly answers: Answer[] = [];
  /** The reply to the last request. */
  reply: FastifyReply | undefined;

  constructor(
    readonly socket: Socket,
    readonly onBound: ServerBounds['onBound'],
  ) {
    // An answer that waits for earlier ones has no connection yet, and Node would report its end only to the first one.
    socket.once('close', () => {
      while (this.answers.length > 0) this.end(this.answers[0]!);
    });
  }

  /** Counts an exchange until its end, once. */
  begin(response: ServerResponse): Answer {
    const last = this.answers.at(-1);
    if (last?.response === response) return last;
    const known = this.answers.find((each) => each.response === response);
    if (known !== undefined) return known;
    const answer: Answer = { response, onGone: undefined, onEnd: undefined };
    this.answers.push(answer);
    response.once('close', () => this.end(answer));
    return answer;
  }

  private end(answer: Answer): void {
    const at = this.answers.indexOf(answer);
    if (at === -1) return;
    // The order of answers means nothing.
    this.answers[at] = this.answers.at(-1)!;
    this.answers.pop();
    if (!answer.response.writableFinished) answer.onGone?.();
    answer.onEnd?.();
  }

  /** Closes the connection after the answers in progress. */
  closeAfterAnswers(): void {
    if (this.answers.length === 0) this.socket.destroy();
    for (const { response } of this.answers) {
      response.once('close', () => {
        if (this.answers.length === 0) this.socket.end();
      });
    }
  }
}

const connections = new WeakMap<Socket, Connection>();

function connectionOf(socket: Socket, onBound: ServerBounds['onBound'] = () => undefined): Connection {
  const known = connections.get(socket);
  if (known !== undefined) return known;
  const connection = new Connection(socket, onBound);
  connections.set(socket, connection);
  return connection;
}

export function boundServer(server: Server, bounds: ServerBounds): BoundedServer {
  const { stuckReaderMs, onBound } = bounds;
  // Any number of headers: their bytes are bounded. Above a limit by number, some versions of Node refuse the request, others
  // silently drop headers, even the `Origin`.
  server.maxHeadersCount = 0;
  boundCount(server, bounds);
  const open = new Set<Connection>();
  let closing = false;
  server.on('connection', (socket: Socket) => {
    const connection = connectionOf(socket, onBound);
    open.add(connection);
    socket.once('close', () => open.delete(connection));
  });
  server.on('request', ({ socket }, answer) => {
    const connection = connectionOf(socket, onBound);
    connection.begin(answer);
    if (closing) connection.closeAfterAnswers();
  });
  // Node's timeout of a connection on which nothing moves. Bytes that are sent, even a few of many, restart it.
  server.timeout = stuckReaderMs;
  server.on('timeout', (socket: Socket) => {
    if (connectionOf(socket).answers.length === 0) socket.destroy();
    // Unread data, the connection and its source would stay in memory. A client that waits for an answer has nothing to read.
    else if (socket.writableLength > 0) {
      onBound('stuck_readers');
      socket.destroy();
    }
  });
  return {
    closeQuiet() {
      closing = true;
      for (const connection of open) connection.closeAfterAnswers();
    },
  };
}

/**
 * Reserves half of the file descriptors for answering: models, stores, files, tool servers. Otherwise clients use up all of
 * them, nothing can be answered any more, and the system silently closes new connections.
 */
function boundCount(server: Server, { openFiles = openFileLimit(), onBound, logger }: ServerBounds): void {
  if (!Number.isFinite(openFiles)) return;
  const most = Math.max(1, Math.floor(openFiles / 2));
  server.maxConnections = most;
  server.on('drop', () => {
    onBound('connections');
    // With an error, so that the log repeats the line at growing intervals.
    const error = new Error('too many connections are open');
    logger.warn({ error, metadata: { connections: most, openFiles } }, 'connections were refused');
  });
}

/**
 * Whether the request is processed. The first one above the bound is refused, and the connection ends with that answer:
 * later ones, for which this returns `false`, get none.
 * @throws AppError concurrency_exceeded
 */
export function mayBeAnswered({ socket }: Pick<IncomingMessage, 'socket'>, answer: ServerResponse): boolean {
  const connection = connectionOf(socket);
  connection.begin(answer);
  const underWay = connection.answers.length;
  if (underWay <= maxPipelined) return true;
  if (underWay > maxPipelined + 1) return false;
  connection.onBound('pipelined_requests');
  answer.setHeader('connection', 'close');
  throw new AppError('concurrency_exceeded', `${maxPipelined} requests of this connection are already in progress`);
}

/** For a server without hooks of its own. */
export function boundPipelines(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => {
    try {
      rememberReply(request, reply);
      if (mayBeAnswered(request.raw, reply.raw)) done();
    } catch (error) {
      done(error as Error);
    }
  });
}

/** `onGone` is called if the connection ends before the answer is complete, even if its turn has not come. */
export function whenGone(
  { socket }: Pick<IncomingMessage, 'socket'>,
  answer: ServerResponse,
  onGone: () => void,
): void {
  connectionOf(socket).begin(answer).onGone = onGone;
}

/** `onEnd` is called when the answer, or its connection, has ended. */
export function whenEnded(
  { socket }: Pick<IncomingMessage, 'socket'>,
  answer: ServerResponse,
  onEnd: () => void,
): void {
  connectionOf(socket).begin(answer).onEnd = onEnd;
}

/** Call for each request, so that no refusal is written into an answer that has begun. */
export function rememberReply(request: FastifyRequest, reply: FastifyReply): void {
  connectionOf(request.raw.socket).reply = reply;
}

export const lastReply = (socket: Socket): FastifyReply | undefined => connections.get(socket)?.reply;

/** Resolves when more can be written or the client is gone. */
export function readerReady(answer: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      answer.off('drain', settle);
      answer.off('close', settle);
      resolve();
    };
    answer.once('drain', settle);
    answer.once('close', settle);
    if (answer.destroyed) settle();
  });
}
