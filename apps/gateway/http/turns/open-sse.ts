// A server-sent event stream on a Fastify reply: headers once, keep-alives in silence, backpressure, a reader that takes
// nothing is dropped. Knows nothing of what the events mean.
import type { FastifyReply } from 'fastify';
import { readerReady } from '#libs/http-server/stuck-readers.js';

export interface SseStream {
  /** Writes whole events. Resolves when the reader can take more, or has gone; nothing to wait for is undefined. */
  write(text: string): Promise<void> | undefined;
  /** Ends the stream; what was written is flushed. */
  end(): void;
}

export interface SseOptions {
  /** What breaks a silence: a comment, or an event that says nothing. */
  keepAlive: string;
  keepAliveMs: number;
  /** A reader that takes nothing for so long is cut off. */
  stuckReaderMs: number;
}

/** Sends the headers. Those that hooks set on the reply are kept (Fastify's `hijack` alone would lose them). */
export function openSse(reply: FastifyReply, options: SseOptions): SseStream {
  const headers = reply.getHeaders();
  reply.hijack();
  const response = reply.raw;
  // A stream lives for minutes: Nagle would hold small chunks back.
  response.socket?.setNoDelay(true);
  response.writeHead(200, {
    ...(headers as Record<string, string>),
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
    connection: 'keep-alive',
  });

  const keepAlive = setInterval(() => {
    if (!response.writableNeedDrain && response.writable) response.write(options.keepAlive);
  }, options.keepAliveMs);
  response.once('close', () => clearInterval(keepAlive));

  return {
    write(text) {
      if (!response.writable) return undefined;
      keepAlive.refresh();
      return response.write(text) ? undefined : readerReady(response, options.stuckReaderMs);
    },
    end() {
      clearInterval(keepAlive);
      if (response.writable) response.end();
    },
  };
}
