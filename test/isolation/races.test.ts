// A directory of the session is swapped for a link to the outside, as fast as it goes, while npm's filesystem server writes
// into it. Its own checks lose such a race; that of the builtin tools is in libs/workspace/workspace-paths.test.ts.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { eachInTurn } from '#libs/concurrency/lists/each-in-turn.js';
import { findTestIsolation, testLevel } from '../support/isolation.js';
import { openToolServers, type ToolServers } from '../support/tool-servers.js';
import { verifies } from '../verifies.js';

const writes = 2_000;
const atOnce = 8;
/** The writer and the one who swaps keep a core busy each, beside whatever else the machine does. */
const raceMs = 180_000;
const confines = testLevel(await findTestIsolation()) === 'confined';

/** `there` is now the directory, now the link. */
const swapper = `
const { renameSync, symlinkSync } = require('node:fs');
symlinkSync(process.argv[2], 'link');
let going = true;
process.on('message', () => { going = false; });
process.send('ready');
const round = () => {
  for (let times = 0; times < 50; times += 1) {
    renameSync('there', 'away'); renameSync('link', 'there'); renameSync('there', 'link'); renameSync('away', 'there');
  }
  if (going) setImmediate(round); else process.exit(0);
};
round();`;

let place: string;
let outside: string;
let servers: ToolServers;

beforeEach(async () => {
  place = mkdtempSync(join(tmpdir(), 'races-'));
  outside = join(place, 'outside');
  mkdirSync(outside);
  for (const path of [place, outside]) chmodSync(path, 0o777);
  const files = {
    command: 'npx',
    args: ['-y', '@modelcontextprotocol/server-filesystem', '${WORKSPACE}'],
    concurrency: atOnce,
  };
  servers = await openToolServers({ files });
});
afterEach(async () => {
  await servers.close();
  rmSync(place, { recursive: true, force: true });
});

async function race(write: (name: string) => Promise<unknown>): Promise<number> {
  const workspace = servers.workspaces.workspace({ id: 'sess_a', directory: 'ws_sess_a' });
  await workspace.write('there/first.txt', Buffer.from('x'), { createDirectories: true });
  const script = join(place, 'swapper.cjs');
  writeFileSync(script, swapper);
  const child = fork(script, [outside], { cwd: servers.workspaces.hostPath('ws_sess_a') });
  try {
    await once(child, 'message');
    let written = 0;
    await eachInTurn(Array(writes).keys(), atOnce, (index) =>
      write(`there/file-${index}.txt`).then(
        () => (written += 1),
        () => undefined,
      ),
    );
    child.send('end');
    await once(child, 'exit');
    return written;
  } finally {
    child.kill('SIGKILL');
  }
}

describe.skipIf(!confines)('confined', () => {
  verifies(
    'tools.confined-by-default',
    '2,000 writes while a directory is swapped for a link',
    async () => {
      const written = await race((name) =>
        servers
          .call('files', 'write_file', { args: { path: `/mcp_workspaces/sess_a/${name}`, content: 'x' } })
          .then((result) => {
            if (result.isError === true) throw new Error('refused');
          }),
      );
      expect(readdirSync(outside)).toEqual([]);
      expect(written).toBeGreaterThan(0);
    },
    raceMs,
  );
});
