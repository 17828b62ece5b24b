// Limits of the HTTP servers of gateway and worker that apply before a request is read: connections, and clients that
// do not read their answers. All headers are read.
import type { Server } from 'node:http';
import type { Logger } from '#libs/logging/logger.js';
import { openFileLimit } from '#libs/process/open-file-limit.js';
import { boundConnections } from './bound-connections.js';
import { takeAllHeaders } from './refused-requests.js';
import { boundReaders } from './stuck-readers.js';

export interface ServerBounds {
  /** A client that reads nothing for this long is disconnected, ms. */
  stuckReaderMs: number;
  /** Called for each connection closed for this reason. */
  onBound: (limit: 'connections' | 'stuck_readers') => void;
  logger: Logger;
}

export function boundServer(server: Server, { stuckReaderMs, onBound, logger }: ServerBounds): void {
  takeAllHeaders(server);
  boundConnections(server, { openFiles: openFileLimit(), onRefused: () => onBound('connections'), logger });
  boundReaders(server, { stuckReaderMs, onDropped: () => onBound('stuck_readers') });
}
