// A network between a client and its server that can be cut, silent, or refuse: the outermost edge of a fault.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface FaultProxy {
  port: number;
  /** Connections that were asked for so far, refused ones too. */
  readonly asked: number;
  /** Connections stand, nothing passes any more; new ones are taken and get no answer. As a stopped server does. */
  silence(): void;
  /** Nothing passes on connections that stand, for ever; new ones are served. As after a lost route. */
  freeze(): void;
  /** Cuts every connection; new ones are served. */
  cut(): void;
  /** Cuts every connection and refuses new ones. */
  refuse(): void;
  /** Everything passes again, what was held back too. */
  restore(): void;
  close(): Promise<void>;
}

type Mode = 'pass' | 'silent' | 'refuse';

export async function openFaultProxy(target: { host: string; port: number }): Promise<FaultProxy> {
  let mode: Mode = 'pass';
  let asked = 0;
  const sockets = new Set<Socket>();
  const held = new Set<Socket>();

  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      sockets.delete(socket);
      held.delete(socket);
    });
  };
  const join = (client: Socket) => {
    const server = connect(target);
    keep(server);
    client.pipe(server);
    server.pipe(client);
    client.once('close', () => server.destroy());
    server.once('close', () => client.destroy());
  };
  const listener = createServer((client) => {
    asked += 1;
    keep(client);
    if (mode === 'refuse') client.destroy();
    else if (mode === 'silent') held.add(client.pause());
    else join(client);
  });
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));

  return {
    port: (listener.address() as AddressInfo).port,
    get asked() {
      return asked;
    },
    silence() {
      mode = 'silent';
      for (const socket of sockets) socket.unpipe().pause();
    },
    freeze() {
      for (const socket of sockets) socket.unpipe().pause();
    },
    cut: destroyAll,
    refuse() {
      mode = 'refuse';
      destroyAll();
    },
    restore() {
      // Pipes were taken apart by a silence: those connections are as good as lost, the held ones are new.
      const wasSilent = mode === 'silent';
      mode = 'pass';
      if (wasSilent) for (const socket of sockets) if (!held.has(socket)) socket.destroy();
      for (const client of held) join(client);
      held.clear();
    },
    async close() {
      destroyAll();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
