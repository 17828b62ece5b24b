// Server-sent events on a Fastify reply, with keep-alives and backpressure. Does not know what the events mean.
import type { FastifyReply } from 'fastify';
import { onlyLineFeeds } from '#libs/http-server/event-lines.js';
import { readerReady } from '#libs/http-server/connections.js';

export interface SseStream {
  /** Writes whole events. The promise resolves when the client can take more or has gone; undefined: no need to wait. */
  write(text: string): Promise<void> | undefined;
  /** Ends the stream; what was written is flushed. */
  end(): void;
}

export interface SseOptions {
  /** A comment or an empty event, sent if there was no event for `keepAliveMs`. */
  keepAlive: string;
  keepAliveMs: number;
}

/** Sends the headers, with those that hooks have set, which Fastify's `hijack` alone would lose. */
export function openSse(reply: FastifyReply, options: SseOptions): SseStream {
  const headers = reply.getHeaders();
  reply.hijack();
  const response = reply.raw;
  // Nagle's algorithm would delay small chunks.
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
      return response.write(onlyLineFeeds(text)) ? undefined : readerReady(response);
    },
    end() {
      clearInterval(keepAlive);
      if (response.writable) response.end();
    },
  };
}
