// What a person decides about: what a server would run, reach and be told, and what keeps it from running here.
import { homedir } from 'node:os';
import { basename } from 'node:path';
import type { Config } from '#libs/config/schema.js';
import { grantsOf } from '../../apps/worker/sandbox/named-paths.js';
import { absoluteWord } from '../../apps/worker/sandbox/resolve-command.js';
import { shown, type ImportedServer } from './imported-server.js';

export interface DescribedServer {
  server: ImportedServer;
  config: Config['mcpServers'][string];
  /** The level that it would have. */
  isolation: string;
  /** Why a worker on this machine would not run it. */
  refused: string | undefined;
}

export function describeServer({ server, config, isolation, refused }: DescribedServer, directory: string): string[] {
  const { name, entry, moved, needed, notes } = server;
  const rows: [string, string][] = [];
  if (config.command !== undefined) {
    rows.push(['runs', [config.command, ...(entry.args ?? [])].join(' ')]);
    rows.push(['isolation', sentences[isolation] ?? isolation], ['network', networkOf(config)]);
    const { read, write, refusal } = grantsOf(
      config.args.map((word) => absoluteWord(word, directory)),
      config.env,
      [],
    );
    const paths = [...write.map((path) => `${path} (may be changed)`), ...read.map((path) => `${path} (read)`)];
    rows.push(['files', paths.length === 0 ? 'the workspace of its session' : paths.join(', ')]);
    if (refusal !== undefined) rows.push(['files', refusal]);
  } else if (config.url !== undefined) {
    const { host, protocol } = new URL(config.url);
    const open = protocol === 'https:' ? '' : ', without encryption';
    rows.push(['reaches', `${host}${open}: arguments of its calls leave this machine`]);
  }
  for (const variable of moved.keys()) rows.push(['secret', `${variable}: its value goes into .env, not here`]);
  for (const [variable, what] of needed) rows.push(['needs', what === '' ? variable : `${variable}: ${what}`]);
  for (const note of notes) rows.push(['note', note]);
  const obstacles = [...(refused === undefined ? [] : [refused]), ...obstacleOf(config.command, isolation)];
  for (const obstacle of obstacles) rows.push(['cannot run yet', obstacle]);
  if (obstacles.length === 0 && config.command !== undefined)
    rows.push(['ready', 'a worker on this machine would run it']);
  return [`${name}:`, ...rows.map(([label, text]) => `  ${label.padEnd(14)}  ${shown(text.replace(homedir(), '~'))}`)];
}

const sentences: Record<string, string> = {
  none: 'none: it has all rights of your user',
  process: 'process: it has the rights of your user, and the network',
  confined: 'confined: it reads the system, its own program and what is named below',
  namespace: 'namespace: it sees nothing of this machine but its own program and what is named below',
};

function networkOf({ network }: Config['mcpServers'][string]): string {
  if (network === 'full') return 'full';
  if (network === 'none') return 'none. If it needs the internet: --network HOST,HOST, or --network full';
  return network.allow.join(', ');
}

/** Programs that are found, and then fail for what they do. */
function obstacleOf(command: string | undefined, isolation: string): string[] {
  if (command === undefined || isolation === 'none' || isolation === 'process') return [];
  const name = basename(command);
  if (name === 'uvx' || name === 'uv') return [uvObstacle];
  return name === 'docker' || name === 'podman' ? [containerObstacle] : [];
}

const uvObstacle =
  'uvx downloads when it starts, which a confined server cannot. Install the package and add its program as command';
const containerObstacle =
  'a confined server cannot start containers. Run the container yourself and add its url, or its program as command';
