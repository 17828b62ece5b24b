// Sees before anything is started that a service can listen where it should, and says who is in the way if not.
import { createServer, type AddressInfo } from 'node:net';
import { findListener } from './find-listener.js';
import { Unrecoverable } from './part.js';
import type { Origins } from '#libs/config/read-config.js';
import type { Config } from '#libs/config/schema.js';

export interface Wanted {
  /** Who wants it, for the message. */
  name: string;
  host: string;
  /** 0: any. */
  port: number;
  /** The setting that changes it. */
  portSetting: string;
  hostSetting: string;
  /** Nobody asked for this very port: another will do. */
  mayMove: boolean;
  /** Where another part will listen, which does not do so yet. */
  promised?: { name: string; port: number };
}

/** @throws Unrecoverable when the service cannot listen there */
export async function choosePort(wanted: Wanted): Promise<number> {
  const { promised } = wanted;
  if (promised !== undefined && promised.port === wanted.port) {
    if (wanted.mayMove) return tryPort(wanted.host, 0);
    throw new Unrecoverable(explain(wanted, 'EADDRINUSE', `the ${promised.name} of this start`));
  }
  try {
    return await tryPort(wanted.host, wanted.port);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (code === 'EADDRINUSE' && wanted.mayMove) return tryPort(wanted.host, 0);
    throw new Unrecoverable(explain(wanted, code), { cause: error });
  }
}

function explain({ name, host, port, portSetting, hostSetting }: Wanted, code: string, known?: string): string {
  const where = `The ${name} cannot listen on ${host}:${port}`;
  switch (code) {
    case 'EADDRINUSE': {
      if (known !== undefined) return `${where}: that port is for ${known}. Set ${portSetting} to another port.`;
      const listener = findListener(port) ?? 'another program';
      return `${where}: ${listener} already listens there. Stop it, or set ${portSetting} to a free port.`;
    }
    case 'EACCES':
      return `${where}: this user may not use that port. Set ${portSetting} to one above 1023.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${where}: this machine has no such address. Set ${hostSetting} to one that it has, such as 127.0.0.1.`;
    default:
      return `${where} (${code}). Set ${hostSetting} and ${portSetting} to an address that is free.`;
  }
}

function tryPort(host: string, port: number): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, () => {
      const { port: found } = server.address() as AddressInfo;
      server.close(() => resolve(found));
    });
  });
}

/** @throws Unrecoverable when one of them cannot listen there */
export async function choosePorts({ server }: Config, origins: Origins): Promise<{ gateway: number; worker: number }> {
  const { host } = server;
  const gateway = await choosePort({
    name: 'gateway',
    host,
    port: server.port,
    portSetting: 'PORT',
    hostSetting: 'HOST',
    mayMove: false,
  });
  const worker = await choosePort({
    name: 'worker',
    host,
    port: server.worker_port,
    portSetting: 'SERVER_WORKER_PORT',
    hostSetting: 'HOST',
    mayMove: !origins.has('server.worker_port'),
    promised: { name: 'gateway', port: gateway },
  });
  return { gateway, worker };
}
