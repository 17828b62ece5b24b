import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readablePaths } from './readable-paths.js';

let root: string;
const at = (...names: string[]) => join(root, ...names);
const put = (...names: string[]) => {
  mkdirSync(at(...names.slice(0, -1)), { recursive: true });
  writeFileSync(at(...names), '');
  return at(...names);
};
/** Below the test's own directory. */
const given = (words: string[], more: string[] = [], kept: string[] = []) => {
  const { paths, refused } = readablePaths(words, more, kept);
  const own = (path: string) => path.startsWith(root);
  return { paths: paths.filter(own).sort(), refused };
};

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'readable-')));
});
afterEach(() => rmSync(root, { recursive: true }));

test('a script: its directory, and where Node looks for packages and the kind of module', () => {
  const script = put('app', 'dist', 'server.js');
  put('app', 'package.json');
  put('app', 'node_modules', 'one', 'index.js');
  put('app', 'secret.txt');
  expect(given(['/bin/sh', script]).paths).toEqual(
    [at('app/dist'), at('app/node_modules'), at('app/package.json')].sort(),
  );
});

test('an installed package by its link, a program of an installation, an environment of Python', () => {
  const real = put('store', 'pkg', 'cli.js');
  mkdirSync(at('node_modules', '.bin'), { recursive: true });
  symlinkSync(real, at('node_modules', '.bin', 'cli'));
  expect(given([at('node_modules', '.bin', 'cli')]).paths).toEqual([at('node_modules'), at('store/pkg')]);
  expect(given([put('opt', 'tool', 'bin', 'run')]).paths).toContain(at('opt/tool'));
  put('venv', 'pyvenv.cfg');
  put('python', 'bin', 'python3');
  mkdirSync(at('venv', 'bin'));
  symlinkSync(at('python', 'bin', 'python3'), at('venv', 'bin', 'python'));
  expect(given([at('venv', 'bin', 'python')]).paths).toContain(at('venv'));
});

test('a file that arguments name is given as it is, behind an option too; directories are granted elsewhere', () => {
  mkdirSync(at('notes'));
  const config = put('etc', 'config.yaml');
  expect(given(['/bin/sh', at('notes'), `--config=${config}`, 'relative', at('gone')]).paths).toEqual([config]);
  expect(given(['/bin/sh'], [at('notes')]).paths).toEqual([at('notes')]);
});

test('what a script imports by another way: files named before it, `imports` of its package, linked packages', () => {
  const script = put('app', 'src', 'server.mjs');
  put('app', 'lib', 'one.js');
  put('app', 'secret.txt');
  writeFileSync(at('app/package.json'), '{"imports":{"#lib/*.js":{"default":"./lib/*.js"},"#all/*":"./*"}}');
  const loader = put('hooks', 'register.mjs');
  put('linked', 'index.js');
  mkdirSync(at('app/node_modules/@mine'), { recursive: true });
  symlinkSync(at('linked'), at('app/node_modules/@mine/linked'));
  const words = ['/bin/sh', '--import', loader, script];
  expect(given(words).paths).toEqual(
    [at('app/lib'), at('app/node_modules'), at('app/package.json'), at('app/src'), at('hooks'), at('linked')].sort(),
  );
  // A linked package that holds our data gives what its package.json lets its code import.
  writeFileSync(at('linked/package.json'), '{"imports":{"#lib/*.js":"./build/*.js"}}');
  put('linked', 'build', 'one.js');
  mkdirSync(at('linked/.data'));
  const { paths, refused } = given(words, [], [at('linked/.data')]);
  expect(paths.filter((path) => path.startsWith(at('linked')))).toEqual([
    at('linked/build'),
    at('linked/package.json'),
  ]);
  expect(refused).toEqual([]);
});

test('never what holds the data of Signalbox: a script beside it is given with other scripts, anything else is refused', () => {
  const script = put('server.mjs');
  const helper = put('helper.mjs');
  put('signalbox.yaml');
  const data = at('.data');
  mkdirSync(data);
  expect(given(['/bin/sh', script], [], [data])).toEqual({ paths: [helper, script], refused: [] });
  expect(given(['/bin/sh'], [root], [data])).toEqual({ paths: [], refused: [root] });
  expect(given(['/bin/sh'], [data], [data])).toEqual({ paths: [], refused: [data] });
  symlinkSync(data, at('link'));
  expect(given(['/bin/sh'], [at('link')], [data]).refused).toEqual([data]);
  // A part of it is no better than the whole.
  const spool = put('.data', 'spool', 'rows');
  expect(given(['/bin/sh', spool], [], [data]).refused).toEqual([spool]);
});
