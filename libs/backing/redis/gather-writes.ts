// Commands of one turn of the event loop go out in one write: each of its own is a system call here and a wake-up of the
// server. What a command promises does not change: it is queued, timed and failed by the driver as before.
import { Cluster, type Redis } from 'ioredis';
import type { RedisClient } from './redis-client.js';

/** For clients whose commands come many at a time; a blocking one's single command would only wait. */
export function gatherWrites<Client extends RedisClient>(client: Client): Client {
  // Of a cluster, each server's connection as it is made.
  if (client instanceof Cluster) client.on('+node', gatherOf);
  else gatherOf(client);
  return client;
}

function gatherOf(client: Redis): void {
  const send = client.sendCommand.bind(client);
  let corked: Redis['stream'] | undefined;
  client.sendCommand = (command, stream) => {
    const { stream: socket, status } = client;
    // While it connects, the driver's own greeting goes as it is.
    if (corked === undefined && status === 'ready') {
      corked = socket;
      socket.cork();
      setImmediate(() => {
        corked = undefined;
        socket.uncork();
      });
    }
    return send(command, stream);
  };
}
