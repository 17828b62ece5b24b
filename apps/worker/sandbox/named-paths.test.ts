import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { grantsOf, namesDirectory } from './named-paths.js';
import { absoluteWord } from './resolve-command.js';

let root: string;
const at = (...names: string[]) => join(root, ...names);
const file = (name: string, mode = 0o644) => {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), '', { mode });
  return at(name);
};

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'named-')));
});
afterEach(() => rmSync(root, { recursive: true }));

test('a directory is granted with writing, by its real path; the system’s only with reading', () => {
  mkdirSync(at('notes'));
  symlinkSync(at('notes'), at('link'));
  const granted = { read: ['/usr/share'], write: [at('notes')] };
  expect(grantsOf([at('link'), '/usr/share', at('gone'), 'word'], {}, [])).toEqual(granted);
  expect(grantsOf([`--root=${at('notes')}/`, '--lib', '/usr/share'], {}, [])).toEqual(granted);
  expect(grantsOf([`file://${at('notes')}`], {}, []).write).toEqual([at('notes')]);
});

test.each(['/', dirname(homedir()), homedir()])(
  '%s is refused as an argument, and a variable of it grants nothing',
  (path) => {
    expect(grantsOf([path], {}, []).refusal).toContain(`its arguments name ${path}, which holds`);
    expect(grantsOf([], { HOME: path }, [])).toEqual({ read: [], write: [] });
  },
);

test('a database or what a program keeps: with its directory, whether or not the file is there yet', () => {
  const kept = file('data/shop.db');
  expect(grantsOf([kept], {}, []).write).toEqual([kept, at('data')]);
  expect(grantsOf(['--dsn', `sqlite://${at('data/new.sqlite')}`], {}, []).write).toEqual([at('data')]);
  expect(grantsOf([], { MEMORY_FILE_PATH: at('data/memory.jsonl') }, []).write).toEqual([at('data')]);
  // Beside the data of Signalbox it is given alone.
  expect(grantsOf([kept], {}, [file('data/signalbox.yaml')]).write).toEqual([kept]);
});

test('other files are given alone: settings, keys and programs only to be read', () => {
  const list = file('list.txt');
  const fixed = [file('settings.yaml'), file('credentials.json'), file('tool', 0o755)];
  expect(grantsOf([list, ...fixed, file('start.mjs')], {}, [])).toEqual({ read: fixed, write: [list] });
  expect(grantsOf(['--config', file('app.json')], { API_TOKENS: file('all.json') }, [])).toEqual({
    read: [at('app.json'), at('all.json')],
    write: [],
  });
});

test('a variable that names data of Signalbox grants nothing; an argument is left to be refused', () => {
  const data = at('data');
  mkdirSync(data);
  expect(grantsOf([data], { DATA: data }, [data])).toEqual({ read: [], write: [data] });
  expect(grantsOf([], { DATA: data }, [data])).toEqual({ read: [], write: [] });
});

test('only a directory among the arguments takes the place of the workspace', () => {
  expect(namesDirectory([file('shop.db'), '${WORKSPACE}', at('gone')])).toBe(false);
  expect(namesDirectory(['--import', file('start.mjs'), root])).toBe(true);
});

test('words become absolute where they can only be paths', () => {
  const words = (...given: string[]) => given.map((word) => absoluteWord(word, root));
  file('server.mjs');
  file('dist/main.js');
  mkdirSync(at('run'));
  expect(words('.', './notes', '../other', '--root=./notes', 'server.mjs', 'dist/main.js', '~', '~/notes')).toEqual([
    root,
    at('notes'),
    join(dirname(root), 'other'),
    `--root=${at('notes')}`,
    at('server.mjs'),
    at('dist/main.js'),
    homedir(),
    join(homedir(), 'notes'),
  ]);
  const others = [
    'run',
    'gone.mjs',
    '@scope/package',
    'https://example.com/x',
    '-y',
    '--',
    '',
    '...',
    '~other',
    '${WORKSPACE}',
  ];
  expect(words(...others)).toEqual(others);
});
