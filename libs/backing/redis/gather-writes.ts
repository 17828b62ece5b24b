// Sends the commands of one turn of the event loop in one write: separate writes cost a system call here and a wake-up
// of the server each. Commands behave as before: the driver queues, times and fails them.
import { Cluster, type Redis } from 'ioredis';
import type { RedisClient } from './redis-client.js';

/** For clients that send many commands at a time; the single command of a blocking client would only wait. */
export function gatherWrites<Client extends RedisClient>(client: Client): Client {
  // In a cluster, each server has its own connection.
  if (client instanceof Cluster) client.on('+node', gatherOf);
  else gatherOf(client);
  return client;
}

function gatherOf(client: Redis): void {
  const send = client.sendCommand.bind(client);
  let corked: Redis['stream'] | undefined;
  client.sendCommand = (command, stream) => {
    const { stream: socket, status } = client;
    // While it connects, the driver's handshake is sent unchanged.
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
