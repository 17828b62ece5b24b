// `signalbox tools`: the tools and tool servers of a gateway that runs, a call of one, and servers that are added to the
// configuration. Exit codes: 0 done, 1 refused, failed or waiting for a decision, 2 wrong usage, 3 the gateway does not answer.
import { ConfigError } from '#libs/config/config-error.js';
import { processEnvironment } from '#libs/config/files/env-file.js';
import { loadConfig } from '#libs/config/load-config.js';
import { localUrl } from '#libs/process/local-url.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import { askGateway, Unreachable, type AskedGateway } from './ask-gateway.js';
import { readArguments, UsageError } from './usage-error.js';

const listMs = 10_000;
/** A tool that reports its progress may take as long. */
const callMs = 600_000;
/** With the time in which a person reads what would be added. */
const addMs = 1_800_000;

interface Listed {
  function: { name: string; description: string };
  server: string;
  available: boolean;
  requires_approval: boolean;
}

interface Approval {
  id: string;
  reason: string | null;
}

interface Answered {
  content: string;
  /** The call waits for a decision, or for the answer to a question. */
  approval?: Approval;
}

interface ListedServer {
  name: string;
  state: string;
  isolation?: string;
  reason?: string;
  tools: number;
}

try {
  await main();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = exitCodeOf(error);
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const { positionals, values } = readArguments('tools', {
    allowPositionals: true,
    options: {
      url: text,
      session: text,
      json: { type: 'boolean', default: false },
      from: text,
      as: text,
      network: text,
      yes: { type: 'boolean', default: false },
    },
  });
  if (positionals[0] === 'add') return add(positionals.slice(1), values);
  const [command = 'list', name, args = '{}', ...more] = positionals;
  const isCall = command === 'call';
  if (!isCall && command !== 'list' && command !== 'servers')
    throw new UsageError(`'${command}' is not a command`, 'tools');
  if (more.length > 0 || (!isCall && name !== undefined)) throw new UsageError('There are too many arguments', 'tools');
  if (isCall && name === undefined) throw new UsageError('The name of the tool is missing', 'tools');
  const given = isCall ? readObject(args) : {};
  const gateway = { url: values.url ?? configuredUrl(), key: processEnvironment()['SIGNALBOX_KEY'], timeoutMs: listMs };
  if (!URL.canParse(gateway.url)) throw new UsageError(`--url must be a URL, got ${gateway.url}`, 'tools');
  if (isCall) return call(gateway, { name, arguments: given, session_id: values.session }, values.json);
  const answer = await askGateway(gateway, command === 'list' ? '/api/tools' : '/api/servers');
  if (values.json) console.log(JSON.stringify(answer));
  else for (const line of command === 'list' ? toolLines(answer) : serverLines(answer)) console.log(line);
}

async function add(names: string[], values: { from?: string; as?: string; network?: string; yes: boolean }) {
  const { from, as, network, yes } = values;
  if (from === undefined) throw new UsageError('--from FILE or URL is missing', 'tools');
  if (names.length > 1) throw new UsageError('There are too many arguments', 'tools');
  const { addServers } = await import('../tool-import/add-servers.js');
  process.exitCode = await addServers({ from, name: names[0], as, network, yes }, AbortSignal.timeout(addMs));
}

async function call(gateway: AskedGateway, body: object, json: boolean): Promise<void> {
  const answer = (await askGateway({ ...gateway, timeoutMs: callMs }, '/api/tools/call', body)) as Answered;
  const { approval } = answer;
  if (json) console.log(JSON.stringify(answer));
  else if (approval === undefined) console.log(answer.content);
  else console.error(waitingLine(approval));
  if (approval !== undefined) process.exitCode = 1;
}

function waitingLine({ id, reason }: Approval): string {
  const why = reason === null ? '' : ` Why: ${reason}`;
  return `The call has not run: it waits for a decision on ${id} (/api/approvals). Repeat the command after it.${why}`;
}

function toolLines(answer: unknown): string[] {
  const { data } = answer as { data: Listed[] };
  if (data.length === 0) return ['No tools were found: is a worker running?'];
  return data.map(({ function: { name, description }, server, available, requires_approval }) => {
    const notes = [...(requires_approval ? ['needs an approval'] : []), ...(available ? [] : ['not available now'])];
    const [sentence = ''] = description.split('\n');
    return [`${server}/${name}`, sentence.slice(0, 100), ...notes.map((note) => `(${note})`)].join('  ');
  });
}

function serverLines(answer: unknown): string[] {
  const { servers } = answer as { servers: ListedServer[] };
  return servers.map(({ name, state, isolation, reason, tools }) =>
    [name, state, ...(isolation === undefined ? [] : [isolation]), `${tools} tools`, ...(reason ? [reason] : [])].join(
      '  ',
    ),
  );
}

function readObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch {
    // Said below.
  }
  throw new UsageError(`ARGUMENTS must be a JSON object such as '{"path": "a.txt"}', got ${text}`, 'tools');
}

function configuredUrl(): string {
  const { host, port } = loadConfig().server;
  return localUrl(host, port);
}

function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError || error instanceof ConfigError) return 2;
  return error instanceof Unreachable ? 3 : 1;
}
