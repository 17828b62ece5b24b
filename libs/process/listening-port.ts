// The actual port of a server that was configured to listen on any free port.
import type { Server } from 'node:net';

export function listeningPort(server: Pick<Server, 'address'>): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
