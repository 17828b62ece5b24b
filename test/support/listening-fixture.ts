// Starts a tool server of the fixtures over HTTP, in a process of its own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fixture } from './tool-servers.js';

export interface ListeningFixture {
  /** Without a path. */
  address: string;
  close(): void;
}

export async function listeningFixture(name: string): Promise<ListeningFixture> {
  const server = spawn(process.execPath, [fixture(name), '--http'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = (await once(server.stdout, 'data')) as [Buffer];
  return { address: `http://127.0.0.1:${port.toString().trim()}`, close: () => void server.kill('SIGKILL') };
}
