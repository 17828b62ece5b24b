// A reader's machine: a home directory with a checkout as `npm ci` leaves it, what `npm start` starts there without settings,
// and a second terminal. Whatever a page writes or sets is here, and nowhere else.
import { readFileSync } from 'node:fs';
import { copyFile, mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { readConfig } from '#libs/config/read-config.js';
import { eventually } from './eventually.js';
import { freePort } from './services/free-port.js';
import { temporaryDirectory } from './services/start-process.js';
import type { CodeBlock } from './markdown-blocks.js';
import { canRun, runProgram } from './run-program.js';
import { openTerminal, type Terminal } from './terminal.js';
import { startWhole, type WholeStart } from './whole-start.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** The address in all documents. */
const address = 'http://127.0.0.1:8000';
const hasPythons = new Map<string, boolean>();

export interface DefaultInstall {
  checkout: string;
  /** Does with a block what its page asks for; see `Follow`. */
  follow(block: CodeBlock): Promise<string | undefined | null>;
  /** For programs that a reader starts. */
  environment: Record<string, string>;
  /** A text of the documentation with the address and the checkout of this machine. */
  here(text: string): string;
  /** What `git status` of the checkout names. */
  changes(): Promise<string>;
  start(): Promise<void>;
  /** The second terminal, in the checkout. */
  newTerminal(): Promise<void>;
  /** Types a command there. */
  run(command: string): Promise<string>;
  close(): Promise<void>;
}

export async function openDefaultInstall(): Promise<DefaultInstall> {
  const temporary = await temporaryDirectory();
  const home = await realpath(temporary.path);
  const checkout = join(home, 'signalbox');
  await makeCheckout(checkout);
  const [port, workerPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const variables = { HOME: home, PORT: String(port), SERVER_WORKER_PORT: String(workerPort) };
  const environment = {
    ...variables,
    PATH: process.env['PATH'] ?? '',
    PYTHONPATH: process.env['PYTHONPATH'] ?? '',
    PYTHONDONTWRITEBYTECODE: '1',
    npm_config_update_notifier: 'false',
    // Without notices: npm prints them to standard error.
    npm_config_loglevel: 'warn',
  };
  const names: [shown: string, here: string][] = [
    [address, url],
    ['/path/to/signalbox', checkout],
  ];
  let terminal: Terminal | undefined;
  let whole: WholeStart | undefined;
  let servers: Record<string, unknown> = {};

  /** Types into the second terminal. */
  const run = (command: string): Promise<string> => terminal!.run(command);

  async function stop(): Promise<void> {
    whole?.kill('SIGTERM');
    await whole?.ended;
    whole = undefined;
  }

  async function start(settings: Record<string, string> = {}): Promise<void> {
    await stop();
    whole = await startWhole({ ...variables, ...settings }, undefined, checkout);
    await serversReady(url, ['chimech', 'workspace']);
  }

  /** A gateway and a worker that run read it by themselves. */
  async function writeSettings(text: string): Promise<void> {
    const { mcpServers = {} } = parse(text) as { mcpServers?: Record<string, unknown> };
    const changed = Object.keys(mcpServers).filter((name) => !isDeepStrictEqual(mcpServers[name], servers[name]));
    servers = mcpServers;
    const { output } = whole ?? { output: [] };
    const before = output.length;
    await writeFile(join(checkout, 'signalbox.yaml'), text);
    if (whole === undefined) return;
    const said = () => output.slice(before).join('').split('\n');
    const reports = (name: string, message: string) =>
      said().some((line) => line.includes(`:"${name}"`) && line.includes(message));
    await eventually(
      async () =>
        ['gateway', 'worker'].every((service) => reports(service, 'the configuration was read again')) &&
        changed.every((name) => reports(name, 'tools of a server were published')) &&
        (changed.length === 0 || (await allReady(url))),
      30_000,
    ).catch((cause: unknown) => {
      throw new Error(`${text}was not taken: ${said().slice(-20).join('\n')}`, { cause });
    });
  }

  async function type(command: string): Promise<string> {
    const [, before] = /^(.*)npm start\n$/.exec(command) ?? [];
    if (before !== undefined) {
      // Continuous integration has run `npm ci`; what runs already need not be started.
      if (whole === undefined || before !== 'npm ci && ') await start(variablesOf(before, home));
      return '';
    }
    return run(withLinks(command));
  }

  const write = (file: string, text: string) =>
    run(`mkdir -p ${dirname(file)}\ncat > ${file} <<'end-of-file'\n${text}end-of-file`);

  return {
    environment,
    checkout,
    here: (text) => names.reduce((here, [shown, real]) => here.replaceAll(shown, real), text),
    start: () => start(),
    run,
    newTerminal: async () => {
      terminal?.close();
      terminal = await openTerminal({ environment, names, directory: checkout });
    },
    follow: async ({ language, code, file, number }) => {
      const named = (extension: string) =>
        file?.endsWith(`.${extension}`) === true ? file : `example-${number}.${extension}`;
      switch (language) {
        case '':
        case 'bash':
        case 'sh':
          return type(code);
        case 'js':
          await write(named('mjs'), code);
          return run(`node ${named('mjs')}`);
        case 'python':
          await write(named('py'), code);
          if (pythonHas('openai')) return run(`python3 ${named('py')}`);
          // Without the package it is only compiled.
          await run(`python3 -c 'import ast, sys; ast.parse(sys.stdin.read())' < ${named('py')}`);
          return null;
        case 'ts':
          return write(named('ts'), code);
        case 'yaml':
          if (file === 'signalbox.yaml') await writeSettings(code);
          else if (file?.startsWith('~/') === true) await write(file, code);
          else readConfig({ environment: variablesIn(code), file: { path: 'signalbox.yaml', text: code } });
          return '';
        case 'json':
          return file?.endsWith('.json') === true ? write(file, code) : undefined;
        case 'text':
          return undefined;
        default:
          return null;
      }
    },
    changes: async () => {
      const git = await runProgram('git', ['-C', checkout, 'ls-files', '--others', '--modified', '--exclude-standard']);
      if (git.code !== 0) throw new Error(git.stderr);
      return git.stdout;
    },
    close: async () => {
      terminal?.close();
      await stop();
      await temporary.remove();
    },
  };
}

/** For settings that are only checked. */
const variablesIn = (settings: string): Record<string, string> =>
  Object.fromEntries(Array.from(settings.matchAll(/\$\{(\w+)\}/g), ([, name]) => [name!, 'any']));

async function makeCheckout(checkout: string): Promise<void> {
  await mkdir(checkout);
  for (const name of ['dist', 'node_modules', 'scripts', 'prisma', 'config', 'clients'])
    await symlink(join(root, name), join(checkout, name));
  // The patterns of the latter for directories do not match links, which are known to git instead.
  for (const name of ['package.json', '.env.example', '.gitignore'])
    await copyFile(join(root, name), join(checkout, name));
  const known = await runProgram('sh', ['-ec', 'git init -q && git add -A'], { cwd: checkout });
  if (known.code !== 0) throw new Error(known.stderr);
}

/** As the workers tell of them, which they do from time to time. */
async function allReady(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/api/servers`);
  const { servers } = (await answer.json()) as { servers: { workers: { state: string }[] }[] };
  return servers.every(({ workers }) => workers.length > 0 && workers.every(({ state }) => state === 'ready'));
}

/** Of `NAME=value … npm start`. */
const variablesOf = (text: string, home: string): Record<string, string> =>
  Object.fromEntries(
    Array.from(text.matchAll(/(\w+)=(\S+)/g), ([, name, value]) => [name!, value!.replace(/^~/, home)]),
  );

/** Until the tools of these servers are in the catalog, where that can be asked without a key. */
const serversReady = (url: string, names: readonly string[]) =>
  eventually(async () => {
    const answer = await fetch(`${url}/api/tools`);
    if (answer.status === 401)
      return ((await (await fetch(`${url}/health/ready`)).json()) as { status: string }).status === 'ok';
    const { data } = (await answer.json()) as { data: { server: string }[] };
    return names.every((name) => data.some(({ server }) => server === name));
  }, 30_000);

/** Packages come from this checkout instead of a registry: each is a link, beside links to its programs. */
const withLinks = (command: string): string =>
  command.replaceAll(/\bnpm install ([^&\n]+)/g, (_whole, words: string) =>
    ['mkdir -p node_modules/.bin', ...words.split(' ').flatMap(linksOf)].join(' && '),
  );

/** By names of the documentation; `/path/to/signalbox` is the checkout itself. */
function linksOf(word: string): string[] {
  if (word.startsWith('-')) return [];
  const name = word.startsWith('/') ? 'signalbox' : word.replace(/(?!^)@.*/, '');
  // The newest has another name beside the one that Nest needs.
  const targets: Record<string, string> = { signalbox: '', typescript: 'node_modules/typescript-7' };
  const target = join(root, targets[name] ?? join('node_modules', name));
  const { bin = {} } = JSON.parse(readFileSync(join(target, 'package.json'), 'utf8')) as {
    bin?: Record<string, string>;
  };
  return [
    `mkdir -p node_modules/${dirname(name)} && ln -sfn ${target} node_modules/${name}`,
    ...Object.entries(bin).map(([program, file]) => `ln -sfn ${join(target, file)} node_modules/.bin/${program}`),
  ];
}

export function pythonHas(module: string): boolean {
  const known = hasPythons.get(module) ?? canRun('python3', ['-c', `import ${module}`]);
  hasPythons.set(module, known);
  return known;
}
