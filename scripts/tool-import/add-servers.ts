// `signalbox tools add`: shows what a pasted file would add, asks, and writes it. Nothing is written that a start would refuse.
import { dirname, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { processEnvironment, envFileName } from '#libs/config/files/env-file.js';
import { ConfigError } from '#libs/config/config-error.js';
import { configSource, openConfigReader } from '#libs/config/load-config.js';
import { readConfig, type ConfigSource } from '#libs/config/read-config.js';
import type { Config } from '#libs/config/schema.js';
import { checkServers } from '../config/check-servers.js';
import { describeServer } from './describe-servers.js';
import { NotImportable, type ImportedServer } from './imported-server.js';
import { readServers } from './read-servers.js';
import { readSource } from './read-source.js';
import { replaceFile, textOfFile, withServers, withVariables, yamlOf } from './write-servers.js';

export interface AddRequest {
  from: string;
  name?: string | undefined;
  as?: string | undefined;
  /** `full`, or hosts separated by commas. */
  network?: string | undefined;
  yes: boolean;
}

interface Plan {
  servers: ImportedServer[];
  file: { path: string; text: string; after: string };
  envFile: { path: string; text: string; after: string };
  /** Variables that are not set. */
  missing: string[];
  config: Config;
}

/** Returns the exit code. @throws NotImportable; ConfigError of a configuration that was wrong before */
export async function addServers(request: AddRequest, signal: AbortSignal): Promise<0 | 1> {
  const environment = processEnvironment();
  const source = configSource(environment);
  const before = readConfig(source);
  const { text, readBeside } = await readSource(request.from, before.tools.fetch_allow, signal);
  const { servers, refused } = readServers(text, request, readBeside);
  for (const { name, why } of refused) console.error(`${name} cannot be added: ${why}.`);
  if (servers.length === 0) return 1;
  for (const { entry } of servers) if (entry.command !== undefined) Object.assign(entry, networkOf(request.network));
  const plan = planOf(servers, source);
  const checked = await checkServers(plan.config, environment);
  console.log(yamlOf(servers));
  for (const server of servers) {
    const config = plan.config.mcpServers[server.name]!;
    const isolation = config.isolation ?? plan.config.isolation.minimum;
    const why = checked.find(({ name }) => name === server.name)?.refused;
    const lines = describeServer({ server, config, isolation, refused: why }, dirname(resolve(plan.file.path)));
    console.log(`${lines.join('\n')}\n`);
  }
  if (plan.missing.length > 0) {
    console.error(`Not added: these variables have to be set first, such as in ${envFileName}:`);
    for (const variable of plan.missing) console.error(`${variable}=`);
    return 1;
  }
  if (!request.yes && !(await agreed(plan.file.path, signal))) return 0;
  replaceFile(plan.envFile.path, plan.envFile.text, plan.envFile.after);
  replaceFile(plan.file.path, plan.file.text, plan.file.after);
  console.log(doneText(plan));
  return refused.length === 0 ? 0 : 1;
}

function networkOf(asked: string | undefined): Pick<ImportedServer['entry'], 'network'> {
  if (asked === undefined) return {};
  return { network: asked === 'full' ? 'full' : { allow: asked.split(',').map((host) => host.trim()) } };
}

/** @throws NotImportable if a start would refuse the result */
function planOf(servers: ImportedServer[], source: ConfigSource): Plan {
  const { environment } = source;
  const path = openConfigReader(environment).path;
  const text = source.file?.text ?? '';
  const isSet = (name: string) => (environment[name] ?? environment[`${name}_FILE`] ?? '') !== '';
  const lines = new Map<string, string>();
  for (const { moved } of servers) {
    for (const [name, value] of moved) {
      if (environment[name] === value) continue;
      if (isSet(name) || (lines.has(name) && lines.get(name) !== value))
        throw new NotImportable(`${name} is set already, to another value: name the server with --as`);
      lines.set(name, value);
    }
  }
  const needed = new Set(servers.flatMap(({ needed: names }) => [...names.keys()]));
  const missing = [...needed].filter((name) => !isSet(name) && !lines.has(name));
  const after = withServers({ path, text }, servers);
  // Stands for what is not set, so that the rest can be checked.
  const known = {
    ...environment,
    ...Object.fromEntries(lines),
    ...Object.fromEntries(missing.map((each) => [each, 'x'])),
  };
  let config: Config;
  try {
    config = readConfig({ ...source, environment: known, file: { path, text: after } });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new NotImportable(`Signalbox would not start with it. ${error.message}`);
  }
  const envPath = resolve(envFileName);
  const envText = lines.size === 0 ? '' : textOfFile(envPath);
  const envFile = { path: envPath, text: envText, after: withVariables(envText, lines) };
  return { servers, file: { path, text, after }, envFile, missing, config };
}

/** False without a terminal: nobody can be asked. */
async function agreed(path: string, signal: AbortSignal): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    console.log('Nothing was written. The same command with --yes adds it.');
    return false;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await terminal.question(`Add this to ${path}? [y/N] `, { signal });
    const isYes = /^y(?:es)?$/i.test(answer.trim());
    if (!isYes) console.log('Nothing was written.');
    return isYes;
  } finally {
    terminal.close();
  }
}

function doneText({ servers, file, envFile }: Plan): string {
  const names = servers.map(({ name }) => name).join(', ');
  const added = `Added to ${file.path}: ${names}.`;
  if (envFile.after !== envFile.text)
    return `${added} Their secrets are in ${envFileName}, which is read at the start: restart Signalbox.`;
  return `${added} A gateway that runs serves them within seconds.`;
}
