// Where the gateway and the worker of a start listen. `signalbox doctor` asks the same, so that it says what a start would say.
import type { Origins } from '#libs/config/read-config.js';
import type { Config } from '#libs/config/schema.js';
import { choosePort } from './choose-port.js';

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
