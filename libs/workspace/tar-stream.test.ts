import { execFileSync } from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { createTestWorkspace, type TestWorkspace } from '../../test/support/test-workspace.js';
import { verifies } from '../../test/verifies.js';
import { tarStream } from './tar-stream.js';

let made: TestWorkspace;
let unpacked: string;

beforeEach(async () => {
  made = await createTestWorkspace();
  unpacked = join(made.base, 'unpacked');
  mkdirSync(unpacked);
});
afterEach(() => made.remove());

const bytes = (text: string) => Buffer.from(text);

async function archive(atChunk: () => void = () => undefined): Promise<Buffer> {
  const directory = await made.workspace.openDirectory('.');
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of tarStream(directory, { maxDepth: 32 })) {
      chunks.push(chunk);
      atChunk();
    }
  } finally {
    await directory.close();
  }
  return Buffer.concat(chunks);
}

function unpack(tar: Buffer): void {
  execFileSync('tar', ['-x', '-C', unpacked], { input: tar, stdio: ['pipe', 'ignore', 'ignore'] });
}

verifies('tools.workspace-archive', 'read back by tar', async () => {
  const { workspace, host } = made;
  const long = `${'long/'.repeat(25)}名前.txt`;
  const longName = 'n'.repeat(255);
  await workspace.write('a.txt', bytes('hello'));
  await workspace.write('-rf', bytes('an option'));
  await workspace.write('a\nb', bytes('two lines'));
  await workspace.write(longName, bytes(''));
  await workspace.write(long, Buffer.alloc(70_000, 'x'), { createDirectories: true });
  symlinkSync('/etc/passwd', join(host, 'link'));
  linkSync(join(made.host, 'a.txt'), join(made.base, 'other'));
  execFileSync('mkfifo', [join(host, 'pipe')]);
  unpack(await archive());
  expect(readdirSync(unpacked).sort()).toEqual(['-rf', 'a\nb', 'long', longName]);
  expect(readFileSync(join(unpacked, long)).length).toBe(70_000);
  rmSync(join(made.base, 'other'));
  unpack(await archive());
  expect(readFileSync(join(unpacked, 'a.txt'), 'utf8')).toBe('hello');
});

verifies('tools.workspace-archive', 'names that are no UTF-8 stay what they are', async () => {
  const odd = [0xff, 0xfe].map((byte) => Buffer.from([0x61, byte]));
  mkdirSync(Buffer.concat([bytes(`${made.host}/`), odd[0]!]));
  for (const name of odd)
    writeFileSync(Buffer.concat([bytes(`${made.host}/`), odd[0]!, bytes('/'), name]), name.toString('hex'));
  unpack(await archive());
  const inside = Buffer.concat([bytes(`${unpacked}/`), odd[0]!]);
  const found = readdirSync(inside, { encoding: 'buffer' }).map((name) => name.toString('hex'));
  expect(found.sort()).toEqual(['61fe', '61ff']);
  expect(readFileSync(Buffer.concat([inside, bytes('/'), odd[1]!]), 'utf8')).toBe('61fe');
});

verifies('tools.workspace-archive', 'times before and after what ustar knows', async () => {
  const years = { old: new Date(-86_400_000), new: new Date(253_402_300_799_000) };
  for (const [name, time] of Object.entries(years)) {
    await made.workspace.write(name, bytes(name));
    utimesSync(join(made.host, name), time, time);
  }
  const kept = statSync(join(made.host, 'new')).mtimeMs;
  unpack(await archive());
  expect(statSync(join(unpacked, 'old')).mtimeMs).toBe(-86_400_000);
  // File systems end at different years.
  expect(statSync(join(unpacked, 'new')).mtimeMs).toBe(kept);
});

verifies(
  'tools.workspace-archive',
  'a file that grows ends where it ended, one that vanishes is left out',
  async () => {
    await made.workspace.write('grows', Buffer.alloc(600_000, 'g'));
    await made.workspace.write('other', bytes('x'));
    let grown = false;
    const tar = await archive(() => {
      if (!grown) writeFileSync(join(made.host, 'grows'), 'more', { flag: 'a' });
      grown = true;
    });
    unpack(tar);
    expect(statSync(join(unpacked, 'grows')).size % 600_000).toBeLessThan(5);
    expect(readdirSync(unpacked).sort()).toEqual(['grows', 'other']);

    mkdirSync(join(made.host, 'directory'));
    for (const name of ['a', 'b', 'c']) writeFileSync(join(made.host, 'directory', name), name);
    rmSync(join(made.host, 'grows'));
    const left = await archive(() => rmSync(join(made.host, 'directory'), { recursive: true, force: true }));
    expect(left.includes('directory/a')).toBe(false);
  },
);

verifies('tools.workspace-archive', 'a file that becomes shorter than was said ends it', async () => {
  await made.workspace.write('shrinks', Buffer.alloc(600_000, 's'));
  const cut = archive(() => truncateSync(join(made.host, 'shrinks'), 10));
  await expect(cut).rejects.toThrow('became shorter');
});
