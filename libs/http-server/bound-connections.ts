// Reserves half of the file descriptors for answering: models, stores, files, tool servers. Otherwise clients use up
// all of them, nothing can be answered any more, and the system silently closes new connections.
import type { Server } from 'node:net';
import type { Logger } from '#libs/logging/logger.js';

const quietMs = 10_000;

export interface ConnectionBound {
  /** Maximum file descriptors of the process. */
  openFiles: number;
  /** Called for each connection that is closed without an answer. */
  onRefused: () => void;
  logger: Logger;
}

export function boundConnections(server: Server, { openFiles, onRefused, logger }: ConnectionBound): void {
  if (!Number.isFinite(openFiles)) return;
  const connections = Math.max(1, Math.floor(openFiles / 2));
  server.maxConnections = connections;
  let untold = 0;
  let quiet = false;
  /** Logs at once, then at most every ten seconds. */
  const tell = () => {
    if (untold === 0 || quiet) return;
    logger.warn(
      { metadata: { refused: untold, connections, openFiles } },
      'connections were refused: too many are open',
    );
    untold = 0;
    quiet = true;
    setTimeout(() => {
      quiet = false;
      tell();
    }, quietMs).unref();
  };
  server.on('drop', () => {
    onRefused();
    untold += 1;
    tell();
  });
}
