// Leaves half of the file descriptors to what answers need: models, stores, files, tool servers. Without it callers take the
// last one, nothing can be answered any more, and the system closes what comes in without a word to anyone.
import type { Server } from 'node:net';
import type { Logger } from '#libs/logging/logger.js';

const quietMs = 10_000;

export interface ConnectionBound {
  /** File descriptors that the process may have. */
  openFiles: number;
  /** For each connection that is closed unanswered. */
  onRefused: () => void;
  logger: Logger;
}

export function boundConnections(server: Server, { openFiles, onRefused, logger }: ConnectionBound): void {
  if (!Number.isFinite(openFiles)) return;
  const connections = Math.max(1, Math.floor(openFiles / 2));
  server.maxConnections = connections;
  let untold = 0;
  let quiet = false;
  /** At once, then no more often than every ten seconds, however many come. */
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
