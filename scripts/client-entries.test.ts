// What README, docs/mcp.md and docs/getting-started-mcp.md tell users to paste into Cursor and Claude Desktop.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { z } from 'zod';
import { codeBlocks } from '../test/support/markdown-blocks.js';
import { verifies } from '../test/verifies.js';
import { isCommand } from './cli/commands.js';

const root = fileURLToPath(new URL('../', import.meta.url));
const entrySchema = z.strictObject({
  mcpServers: z.record(
    z.string(),
    z.union([z.strictObject({ url: z.url() }), z.strictObject({ command: z.string(), args: z.array(z.string()) })]),
  ),
});

for (const file of ['README.md', 'docs/mcp.md', 'docs/getting-started-mcp.md']) {
  verifies('mcp.client-entries', file, async () => {
    const blocks = codeBlocks(await readFile(`${root}${file}`, 'utf8'));
    const entries = blocks.filter(({ language, code }) => language === 'json' && code.includes('"mcpServers"'));
    const servers = entries.flatMap(({ code }) => Object.values(entrySchema.parse(JSON.parse(code)).mcpServers));
    const { scripts } = JSON.parse(await readFile(`${root}package.json`, 'utf8')) as {
      scripts: Record<string, string>;
    };
    for (const server of servers) {
      if ('url' in server) {
        expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:8000\/(mcp|sse)$/);
        continue;
      }
      expect(server).toMatchObject({
        command: 'npm',
        args: ['--prefix', '/path/to/signalbox', 'run', '-s', 'mcp:stdio'],
      });
      const [, program, command] = /^node (\S+) (\S+)$/.exec(scripts['mcp:stdio']!)!;
      expect(existsSync(`${root}${program}`) && isCommand(command!)).toBe(true);
    }
    expect(servers.some((server) => 'url' in server) && servers.some((server) => 'command' in server)).toBe(true);
  });
}
