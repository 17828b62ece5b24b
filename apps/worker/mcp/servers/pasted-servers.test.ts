// Servers of others from npm, pasted as their READMEs say it for Claude Desktop, with directories of this machine. They have a
// package.json of their own (`npm ci --prefix test/known-servers`, in .ci/run), since nothing else needs them.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { openToolServers, type ToolServers } from '../../../../test/support/tool-servers.js';
import { verifies } from '../../../../test/verifies.js';

const packages = fileURLToPath(new URL('../../../../test/known-servers', import.meta.url));
const npx = (...args: string[]) => ({ command: 'npx', args: ['-y', ...args] });

let directory: string;
let servers: ToolServers;
const page = createServer((_request, reply) =>
  reply.setHeader('content-type', 'text/html').end('<h1>The page</h1><p>of this machine</p>'),
);

describe.skipIf(!existsSync(join(packages, 'node_modules')))('pasted servers', () => {
  beforeAll(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), 'pasted-')));
    await mkdir(join(directory, 'project'));
    await mkdir(join(directory, 'data'));
    await writeFile(join(directory, 'project/a.txt'), 'one');
    execFileSync('git', ['init', '-q', join(directory, 'project')]);
    await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve));
    servers = await openToolServers(
      {
        thinking: npx('@modelcontextprotocol/server-sequential-thinking'),
        // It ignores its `--db` and knows the variable of its README only.
        sqlite: { ...npx('mcp-server-sqlite'), env: { SQLITE_DB_PATH: join(directory, 'data/shop.db') } },
        git: { ...npx('mcp-git'), paths: { read: [join(directory, 'project')] } },
        fetch: { ...npx('@tokenizin/mcp-npx-fetch'), network: 'full' },
      },
      { configDirectory: packages },
    );
  });
  afterAll(async () => {
    await servers?.close();
    page.close();
    await rm(directory, { recursive: true, force: true });
  });

  const textOf = async (server: string, tool: string, args: object): Promise<string> => {
    const { content } = await servers.call(server, tool, { args });
    return (content as { text: string }[]).map(({ text }) => text).join('\n');
  };

  verifies('tools.known-servers', 'sequential thinking', async () => {
    const thought = { thought: 'Count', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 };
    expect(JSON.parse(await textOf('thinking', 'sequentialthinking', thought))).toMatchObject({
      thoughtHistoryLength: 1,
    });
  });

  verifies('tools.known-servers', 'SQLite: a file in a directory of the operator', async () => {
    await textOf('sqlite', 'execute', { sql: 'create table items (name text)' });
    await textOf('sqlite', 'execute', { sql: "insert into items values ('lamp')" });
    expect(await textOf('sqlite', 'query', { sql: 'select name from items' })).toContain('lamp');
    expect(existsSync(join(directory, 'data/shop.db'))).toBe(true);
  });

  verifies('tools.known-servers', 'git: a repository that `paths` grants', async () => {
    const repo = { repo_path: join(directory, 'project') };
    expect(await textOf('git', 'git_status', repo)).toContain('a.txt');
  });

  verifies('tools.known-servers', 'fetching, with network access', async () => {
    const { port } = page.address() as AddressInfo;
    const read = await textOf('fetch', 'fetch_markdown', { url: `http://127.0.0.1:${port}/` });
    expect(read).toContain('of this machine');
  });
});
