// What `signalbox` can do, as its help tells it. The programs take their usage from here, so that each says the same by
// whatever name it is called.

export interface CommandHelp {
  /** Behind its name in the list of commands. */
  summary: string;
  /** Without `signalbox` and the name. */
  usage: string[];
  more?: string;
  /** Behind `signalbox`. */
  example: string;
  exits: string;
  /** The short form in a checkout. */
  npm?: string;
}

const database = '3 the database does not answer';

export const commands = {
  start: {
    summary: 'starts everything on this machine: the database, the gateway and the worker',
    usage: [''],
    more: 'Settings come from the environment, .env and signalbox.yaml of the working directory; data is kept in .data there.',
    example: 'start',
    exits: '0 stopped as asked, 1 something could not be started or kept running',
    npm: 'start',
  },
  config: {
    summary: 'shows the configuration in force, or what is wrong with it',
    usage: ['check'],
    example: 'config check',
    exits: '0 valid, 1 not valid',
    npm: 'run config',
  },
  keys: {
    summary: 'creates, lists, rotates and revokes API keys, whether Signalbox is running or not',
    usage: [
      'create --owner NAME --scopes chat,tools,files,admin [--name TEXT] [--roles A,B]\n' +
        '    [--models GLOBS] [--allow-tools GLOBS] [--deny-tools GLOBS] [--turns N]\n' +
        '    [--requests-per-minute N] [--tokens-per-minute N] [--day-usd N] [--month-usd N] [--expires-at TIME]',
      'list',
      'rotate ID [--grace-s N]',
      'revoke ID',
    ],
    more: 'Lists are separated by commas. --json prints JSON.',
    example: 'keys create --owner ada --scopes chat,tools',
    exits: `0 done, 1 refused, 2 wrong usage, ${database}`,
    npm: 'run keys --',
  },
  policy: {
    summary: 'explains how the policy decides a call, and how another policy would have decided past ones',
    usage: [
      'explain --tool SERVER/TOOL [--args JSON] [--user NAME] [--role ROLE]… [--key ID] [--json]',
      'simulate --file DRAFT.yaml [--since 7d] [--json]',
    ],
    example: `policy explain --tool filesystem/write_file --args '{"path": "a.txt"}'`,
    exits: '0 done, 1 the database does not answer, 2 wrong usage or configuration',
    npm: 'run policy --',
  },
  audit: {
    summary: 'verifies, proves, exports and prunes the record of tool calls and decisions',
    usage: [
      'verify [--since TIME] [--public-key FILE]…',
      'proof ROW_ID',
      'prove FILE [--public-key FILE]…',
      'export [--format ndjson|csv] [--since TIME] [--until TIME] [--session ID] [--principal NAME]\n' +
        '    [--tool SERVER/TOOL] [--outcome OUTCOME] [--kind KIND] [--run ID] [--text TEXT]',
      'prune',
    ],
    more:
      'TIME is ISO 8601, or an age such as 30m, 12h or 7d. Signatures of checkpoints are verified with audit.signing_key, and\n' +
      'with each --public-key. `proof` writes a file that proves one row, `prove` checks such a file and needs no database.',
    example: 'audit export --format csv --since 7d',
    exits: `0 done, 1 the audit or a proof is not as it was written, 2 wrong usage, ${database}`,
    npm: 'run audit --',
  },
  replay: {
    summary: 'runs the model calls of a stored turn again, with the recorded results of its tools',
    usage: ['RUN_ID [--model NAME] [--json]'],
    more: 'RUN_ID is the `run_id` of an answer. No tool runs and nothing is stored.',
    example: 'replay run_01HZY3 --model offline',
    exits: '0 replayed, 1 failed, 2 wrong usage or configuration',
    npm: 'run replay --',
  },
  vault: {
    summary: 'makes a key for the connections of users to tool servers, and seals all of them anew',
    usage: ['new-key', 'rotate'],
    more: '`rotate` opens them with any key of VAULT_KEY and seals them with the first, whether Signalbox is running or not.',
    example: 'vault new-key',
    exits: `0 done, 1 something does not open with these keys, 2 wrong usage or no key, ${database}`,
    npm: 'run vault --',
  },
  tools: {
    summary:
      'lists the tools and tool servers of a running gateway and what they cost, calls a tool, and adds servers from files',
    usage: [
      '[list]',
      'servers',
      'cost',
      'call NAME [ARGUMENTS] [--session ID]',
      'add [NAME] --from FILE|URL [--as NAME] [--network full|HOSTS] [--yes]',
      'document FILE…',
    ],
    more:
      '`cost` lists about how many tokens of each model call the definitions take, those that take the most first.\n' +
      'ARGUMENTS is a JSON object. --url is the address of the gateway (default: from the configuration); the key comes\n' +
      'from SIGNALBOX_KEY. --json prints the answer unchanged. `add` reads a server.json of the MCP registry, or a file of\n' +
      'Claude Desktop, Cursor or VS Code; it shows what it would write into signalbox.yaml, and asks (--yes: does not).\n' +
      '`document` says what tools are made of OpenAPI documents.',
    example: `tools call get_time '{"timezone": "Europe/Paris"}'`,
    exits: '0 done, 1 refused, failed or waiting for a decision, 2 wrong usage, 3 the gateway does not answer',
    npm: 'run tools --',
  },
  migrate: {
    summary: 'applies the migrations that the database is missing',
    usage: ['[--wait SECONDS]'],
    more: 'With DATABASE_OWNER_URL it does so as the owner, and makes the roles of DATABASE_URL and DATABASE_READER_URL.',
    example: 'migrate --wait 60',
    exits: `0 done, 1 the migrations and the database disagree, 2 not configured, ${database}`,
    npm: 'run migrate --',
  },
  import: {
    summary: 'imports the documents of a directory into the knowledge base',
    usage: ['DIR [--source NAME] [--prune]'],
    more:
      'DIR holds Markdown, text, HTML, PDF and Word files. --source is the name that searches filter by (default: the name\n' +
      'of DIR); --prune removes documents whose files are gone. Embeddings are made if CHIMECH_EMBEDDINGS_URL and\n' +
      'CHIMECH_EMBEDDINGS_MODEL are set.',
    example: 'import handbook --prune',
    exits: `0 all imported, 1 something was not, 2 wrong usage, ${database}`,
    npm: 'run kb:import --',
  },
  'mcp-stdio': {
    summary: 'connects MCP clients that start a program to /mcp of a running gateway',
    usage: ['[URL]'],
    more: 'URL is by default that of the configuration; the key comes from SIGNALBOX_KEY.',
    example: 'mcp-stdio http://127.0.0.1:8000/mcp',
    exits: '0 the client closed its side, 2 wrong usage',
    npm: 'run mcp:stdio --',
  },
  doctor: {
    summary: 'checks whether Signalbox can start and work here, and says what to fix',
    usage: ['', 'server NAME [--as PRINCIPAL] [--json]'],
    more:
      'With the name of a tool server that has a url: what a worker meets there, whom it would sign in at, and what it says of\n' +
      'a caller. No tool is called.',
    example: 'doctor server crm --as alice',
    exits: '0 nothing is wrong, 1 something is, 2 wrong usage',
    npm: 'run doctor --',
  },
} satisfies Record<string, CommandHelp>;

export type CommandName = keyof typeof commands;

export const isCommand = (name: string): name is CommandName => Object.hasOwn(commands, name);

export function helpOf(name: CommandName): string {
  const { summary, usage, more, example, exits, npm }: CommandHelp = commands[name];
  return [
    `signalbox ${name} ${summary}.`,
    '',
    usageOf(name),
    ...(more === undefined || usage.join('') !== '' ? [] : ['', more]),
    '',
    `Example: signalbox ${example}`,
    `Exit codes: ${exits}.`,
    ...(npm === undefined ? [] : [`In a checkout: npm ${npm}`]),
  ].join('\n');
}

/** For a message about arguments that are not understood. */
export function usageOf(name: CommandName): string {
  const { usage, more }: CommandHelp = commands[name];
  const forms = usage.map((form) => `  signalbox ${name} ${form}`.trimEnd());
  return ['Usage:', ...forms, ...(more === undefined || usage.join('') === '' ? [] : [more])].join('\n');
}

export function helpOfAll(): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  return [
    'Usage: signalbox COMMAND [ARGUMENTS]',
    '',
    ...Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    'Example: signalbox start',
    '`signalbox COMMAND --help` describes one command.',
  ].join('\n');
}

/** The command that was probably meant: its beginning, or one with at most two letters changed. */
export function nearestCommand(word: string): CommandName | undefined {
  const names = Object.keys(commands) as CommandName[];
  const begun = word.length > 1 ? names.find((name) => name.startsWith(word)) : undefined;
  const [nearest] = names.map((name) => ({ name, away: distance(word, name) })).sort((a, b) => a.away - b.away);
  return begun ?? (nearest!.away <= 2 ? nearest!.name : undefined);
}

/** Letters to insert, remove or replace. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let at = 1; at <= from.length; at++) {
    const next = [at];
    for (let column = 1; column <= to.length; column++) {
      const same = row[column - 1]! + (from[at - 1] === to[column - 1] ? 0 : 1);
      next.push(Math.min(row[column]! + 1, next[column - 1]! + 1, same));
    }
    row = next;
  }
  return row[to.length]!;
}
