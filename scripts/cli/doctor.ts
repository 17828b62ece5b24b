// `signalbox doctor`: what keeps Signalbox from starting or working on this machine, a line each, with what to do; with `server NAME`,
// what keeps a tool server from being used. Changes nothing. Exit codes: 0 it can, 1 it cannot, 2 wrong usage.
import { dirname } from 'node:path';
import { ConfigError } from '#libs/config/config-error.js';
import { configurationFiles, loadConfig } from '#libs/config/load-config.js';
import { withMadeVaultKey } from '../start/vault-key-file.js';
import { diagnose, type Finding } from './diagnose.js';
import { diagnoseApi } from './diagnose-api.js';
import { diagnoseServer } from './diagnose-server.js';
import type { ServerFinding } from './server-finding.js';
import { readArguments, UsageError } from './usage-error.js';

const words: Record<Finding['state'] | ServerFinding['state'], string> = {
  ok: 'ok  ',
  note: 'note',
  stop: 'STOP',
  problem: 'STOP',
};

try {
  const { positionals, values } = readArguments('doctor', {
    allowPositionals: true,
    options: { as: { type: 'string', default: '' }, json: { type: 'boolean', default: false } },
  });
  const [what, name, ...more] = positionals;
  if (what === undefined) await checkMachine();
  else if (what === 'server' && name !== undefined && more.length === 0) await checkServer(name, values);
  else throw new UsageError(`doctor takes nothing, or server and its name, got ${positionals.join(' ')}`, 'doctor');
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = error instanceof UsageError || error instanceof ConfigError ? 2 : 1;
}
// Connections of the checks that the machine keeps open have nothing more to tell.
process.exit();

async function checkMachine(): Promise<void> {
  let stops = 0;
  for await (const { state, what } of diagnose()) {
    if (state === 'stop') stops += 1;
    console.log(`${words[state]}  ${what}`);
  }
  console.log(
    stops === 0
      ? '\nSignalbox can start here.'
      : `\n${stops === 1 ? 'One problem prevents' : `${stops} problems prevent`} a start.`,
  );
  process.exitCode = stops === 0 ? 0 : 1;
}

async function checkServer(name: string, { as: principal, json }: { as: string; json: boolean }): Promise<void> {
  const config = withMadeVaultKey(loadConfig());
  const server = Object.hasOwn(config.mcpServers, name) ? config.mcpServers[name] : undefined;
  if (server === undefined) throw new UsageError(`mcpServers has no '${name}'`, 'doctor');
  const { url, openapi } = server;
  const configDirectory = dirname(configurationFiles()[0]!);
  const diagnosis =
    url !== undefined
      ? diagnoseServer({ name, server: { ...server, url }, config, principal })
      : openapi !== undefined &&
        diagnoseApi({ name, server: { ...server, openapi }, config, configDirectory, principal });
  if (diagnosis === false) throw new UsageError(`'${name}' has no url: \`signalbox config check\` checks it`, 'doctor');
  const findings: ServerFinding[] = [];
  for await (const finding of diagnosis) {
    findings.push(finding);
    const { state, check, what, remedy } = finding;
    if (!json)
      console.log(`${words[state]}  ${check.padEnd(11)}  ${what}${remedy === undefined ? '' : `. ${remedy}.`}`);
  }
  if (json) console.log(JSON.stringify(findings));
  process.exitCode = findings.some(({ state }) => state === 'problem') ? 1 : 0;
}
