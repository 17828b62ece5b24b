// A bridge for MCP clients that start a program: their standard input and output, and /mcp of a gateway that runs.
// Passes messages on as they are. Standard output is the protocol's alone; what goes wrong beside it is said on stderr.
import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError } from '#libs/config/config-error.js';
import { processEnvironment } from '#libs/config/files/env-file.js';
import { loadConfig } from '#libs/config/load-config.js';
import { StdioBridge } from './stdio-bridge.js';
import { localUrl } from '#libs/process/local-url.js';

/** How long calls under way may still be answered when the client has closed its side. */
const graceMs = 2_000;

const [address, key] = settings();
if (!URL.canParse(address)) {
  console.error(`${address} is not a URL.\nUsage: signalbox mcp-stdio [http://127.0.0.1:8000/mcp]`);
  process.exit(2);
}
const bridge = new StdioBridge(new URL(address), key);
await bridge.start();
await bridge.ended;
await Promise.race([bridge.idle(), delay(graceMs)]);
await bridge.close();
process.exit(0);

function settings(): [address: string, key: string | undefined] {
  try {
    return [process.argv[2] ?? configuredAddress(), processEnvironment()['SIGNALBOX_KEY']];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(error.message);
    process.exit(2);
  }
}

function configuredAddress(): string {
  const { host, port } = loadConfig().server;
  return `${localUrl(host, port)}/mcp`;
}
