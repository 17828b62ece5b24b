// The definitions of tool servers from npm: each is started over stdio, asked for its tools, and ended. Their credentials are of no
// account, so no tool is called; a server that does not start without its service is left out, and said to be.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type Tool } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { eachInTurn } from '#libs/concurrency/lists/each-in-turn.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { SearchableTool } from '#libs/tool-search/tool-index.js';

/** What starts a server: the program of a package, with arguments and variables. */
export interface PackagedServer {
  package: string;
  args?: string[];
  env?: Record<string, string>;
  /** Texts of files that it reads, by their names in the directory where it starts. */
  files?: Record<string, string>;
}

export interface CollectedTools {
  tools: SearchableTool[];
  /** Servers that gave no list, with the reason. */
  failed: Record<string, string>;
}

const startMs = 60_000;
const atOnce = 2;
/** A server that pages without an end is stopped. */
const maxPages = 50;

/** The tools in the order of the servers. `modules` is the `node_modules` that has the packages. */
export async function listTools(
  servers: Readonly<Record<string, PackagedServer>>,
  modules: string,
): Promise<CollectedTools> {
  const names = Object.keys(servers);
  const lists = new Map<string, SearchableTool[]>();
  const failed: Record<string, string> = {};
  await eachInTurn(names, atOnce, async (name) => {
    try {
      const tools = await listServer(servers[name]!, modules);
      lists.set(
        name,
        tools.map((tool) => searchable(name, tool)),
      );
    } catch (error) {
      failed[name] = error instanceof Error ? error.message.split('\n')[0]! : String(error);
    }
  });
  return { tools: names.flatMap((name) => lists.get(name) ?? []), failed };
}

function searchable(server: string, { name, title, description = '', inputSchema }: Tool): SearchableTool {
  return {
    server,
    tool: name,
    name: `${server}__${name}`,
    ...(title !== undefined && { title }),
    description,
    inputSchema: inputSchema as JsonObject,
  };
}

async function listServer(server: PackagedServer, modules: string): Promise<Tool[]> {
  const home = await mkdtemp(join(tmpdir(), 'tool-recall-'));
  const client = new Client({ name: 'signalbox-tool-recall', version: '1.0.0' });
  try {
    const program = join(modules, server.package, await programOf(join(modules, server.package)));
    for (const [file, text] of Object.entries(server.files ?? {})) await writeFile(join(home, file), text);
    const env = { PATH: process.env['PATH'] ?? '', HOME: home, ...server.env };
    const args = [program, ...(server.args ?? [])];
    const transport = new StdioClientTransport({ command: process.execPath, args, env, cwd: home, stderr: 'ignore' });
    const signal = AbortSignal.timeout(startMs);
    await client.connect(transport, { signal });
    const tools: Tool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < maxPages; page += 1) {
      const listed = await client.listTools(cursor === undefined ? undefined : { cursor }, { signal });
      tools.push(...listed.tools);
      cursor = listed.nextCursor;
      if (cursor === undefined) break;
    }
    return tools;
  } finally {
    await client.close();
    await rm(home, { recursive: true, force: true });
  }
}

/** The first program of the package, below its directory. @throws Error if it has none */
async function programOf(directory: string): Promise<string> {
  const { bin } = JSON.parse(await readFile(join(directory, 'package.json'), 'utf8')) as {
    bin?: string | Record<string, string>;
  };
  const program = typeof bin === 'string' ? bin : Object.values(bin ?? {})[0];
  if (program === undefined) throw new Error(`${directory} has no program`);
  return program;
}
