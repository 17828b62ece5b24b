// `signalbox tools`: the tools and tool servers of a gateway that runs, what they cost, a call of one, and servers that are
// added to the configuration. Exit codes: 0 done, 1 refused, failed or waiting for a decision, 2 wrong usage, 3 no answer.
import { ConfigError } from '#libs/config/config-error.js';
import { processEnvironment } from '#libs/config/files/env-file.js';
import { loadConfig } from '#libs/config/load-config.js';
import { localUrl } from '#libs/process/local-url.js';
import { type JsonObject, parseJsonObject } from '#libs/schemas/json.js';
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
  tokens: number;
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

const noTools = ['No tools were found: is a worker running?'];

/** The commands that list: what they ask the gateway for, and the lines they print. */
const lists: Readonly<Record<string, { path: string; linesOf: (answer: unknown) => string[] }>> = {
  list: { path: '/api/tools', linesOf: toolLines },
  servers: { path: '/api/servers', linesOf: serverLines },
  cost: { path: '/api/tools', linesOf: costLines },
};

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
  if (positionals[0] === 'document') return document(positionals.slice(1));
  const [command = 'list', name, args = '{}', ...more] = positionals;
  const isCall = command === 'call';
  if (!isCall && !Object.hasOwn(lists, command)) throw new UsageError(`'${command}' is not a command`, 'tools');
  if (more.length > 0 || (!isCall && name !== undefined)) throw new UsageError('There are too many arguments', 'tools');
  if (isCall && name === undefined) throw new UsageError('The name of the tool is missing', 'tools');
  const given = isCall ? readObject(args) : {};
  const gateway = { url: values.url ?? configuredUrl(), key: processEnvironment()['SIGNALBOX_KEY'], timeoutMs: listMs };
  if (!URL.canParse(gateway.url)) throw new UsageError(`--url must be a URL, got ${gateway.url}`, 'tools');
  if (isCall) return call(gateway, { name, arguments: given, session_id: values.session }, values.json);
  const { path, linesOf } = lists[command]!;
  const answer = await askGateway(gateway, path);
  if (values.json) console.log(JSON.stringify(answer));
  else for (const line of linesOf(answer)) console.log(line);
}

async function document(files: string[]): Promise<void> {
  if (files.length === 0) throw new UsageError('The FILE of a document is missing', 'tools');
  const { showDocuments } = await import('./show-documents.js');
  process.exitCode = await showDocuments(files, loadConfig());
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
  if (data.length === 0) return noTools;
  return data.map(({ function: { name, description }, server, available, requires_approval }) => {
    const notes = [...(requires_approval ? ['needs an approval'] : []), ...(available ? [] : ['not available now'])];
    const [sentence = ''] = description.split('\n');
    return [`${server}/${name}`, sentence.slice(0, 100), ...notes.map((note) => `(${note})`)].join('  ');
  });
}

/** The sums by server, then all tools, each with those that take the most tokens first. */
function costLines(answer: unknown): string[] {
  const { data } = answer as { data: Listed[] };
  if (data.length === 0) return noTools;
  const servers = [...new Set(data.map(({ server }) => server))].map((name) => {
    const tools = data.filter(({ server }) => server === name);
    return { name: `${name}, ${tools.length} tools`, tokens: sumOf(tools) };
  });
  const tools = data.map(({ server, function: { name }, tokens }) => ({ name: `${server}/${name}`, tokens }));
  const all = { name: `all, ${data.length} tools`, tokens: sumOf(data) };
  return [all, ...byCost(servers), ...byCost(tools)].map(
    ({ name, tokens }) => `${String(tokens).padStart(8)} tokens  ${name}`,
  );
}

function sumOf(tools: readonly Listed[]): number {
  return tools.reduce((sum, { tokens }) => sum + tokens, 0);
}

function byCost<T extends { tokens: number }>(costs: readonly T[]): T[] {
  return costs.toSorted((one, other) => other.tokens - one.tokens);
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
  const value = parseJsonObject(text);
  if (value !== undefined) return value;
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
