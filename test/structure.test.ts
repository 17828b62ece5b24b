// What a reader of the sources can rely on, and what no rule of the linter says.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

const filesOf = (...patterns: string[]) =>
  execFileSync('git', ['ls-files', ...patterns], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .filter((path) => !path.endsWith('.test.ts'));
const sources = filesOf('apps/**.ts', 'apps/**.tsx', 'clients/**.ts', 'libs/**.ts');
const texts = new Map(sources.map((path) => [path, readFileSync(path, 'utf8')]));

/** The files of ours that a file imports, for types too: the linter leaves those out. */
function importsOf(path: string): string[] {
  const specifiers = [...texts.get(path)!.matchAll(/(?:from|import)\s*'([^']+)'/g)].map(([, specifier]) => specifier!);
  return specifiers
    .map((specifier) => (specifier.startsWith('#libs/') ? specifier.slice(1) : join(dirname(path), specifier)))
    .map((target) => normalize(target).replace(/\.js$/, '.ts'))
    .map((target) => (texts.has(`${target}x`) ? `${target}x` : target))
    .filter((target) => texts.has(target));
}

/** A way from a file back to itself. */
function circleFrom(start: string): string[] | undefined {
  const from = new Map<string, string>();
  const ahead = [start];
  for (let path = ahead.pop(); path !== undefined; path = ahead.pop()) {
    for (const target of importsOf(path)) {
      if (target === start) {
        const way = [path];
        for (let at = path; at !== start; at = from.get(at)!) way.unshift(from.get(at)!);
        return [...way, start];
      }
      if (from.has(target)) continue;
      from.set(target, path);
      ahead.push(target);
    }
  }
  return undefined;
}

test('no file imports itself over others, not even for a type', () => {
  expect(sources.length).toBeGreaterThan(400);
  expect(sources.flatMap((path) => circleFrom(path) ?? [])).toEqual([]);
});

test('private members are `private`, constants are written like other names', () => {
  const found = sources.flatMap((path) =>
    texts
      .get(path)!
      .split('\n')
      .filter((line) =>
        /^\s*(?:(?:static|readonly|async|get|set)\s+)*#\w+|^(?:export )?const [A-Z][A-Z0-9_]+\b/.test(line),
      )
      // Tokens of Nest's injection are not values that a reader computes with.
      .filter((line) => !/= Symbol\(/.test(line))
      .map((line) => `${path}: ${line}`),
  );
  expect(found).toEqual([]);
});

test('a folder has at most seventeen files', () => {
  expect(namesAbove(countsOf(sources.map((path) => dirname(path))), 17)).toEqual([]);
});

/** Chimech's comments, and those that are generated from descriptions of the API. */
const excepted = (path: string) => path.startsWith('apps/chimech/') || path === 'clients/typescript/src/answers.ts';

test('comments name their subject: none begins with "Of"', () => {
  const begun = /\/\*\*?\s+(?:\*\s+)?Of\b|(?<!^[ \t]*\/\/.*\n[ \t]*)\/\/ Of\b/gm;
  const found = sources.flatMap((path) => Array.from(texts.get(path)!.matchAll(begun), () => path));
  expect(found.filter((path) => !excepted(path))).toEqual([]);
});

test('at most two files have one name', () => {
  const counts = countsOf(sources.map((path) => basename(path)));
  // Every process begins in its `main.ts`, and every room of the console has its texts in `strings.ts`.
  expect(namesAbove(counts, 2)).toEqual(['connection.ts', 'main.ts', 'strings.ts']);
});

/** The client library cannot import the types of what travels, so it declares them under the names that the servers use. */
const declaresTheWire = (path: string) =>
  /^clients\/typescript\/src\/(?:answers|api-types|chat-types|json)\.ts$/.test(path);
/** The console runs in browsers: a page has its own words for what it shows. */
const isOfConsole = (path: string) => path.startsWith('apps/console/');

test.each([
  ['the servers, the scripts and the client', (path: string) => !isOfConsole(path) && !declaresTheWire(path)],
  ['the console', isOfConsole],
])('an exported name stands for one thing in %s', (_, isJudged) => {
  const declared = /^export (?:abstract |async )?(?:const|function\*?|class|interface|type) (\w+)/gm;
  const counts = countsOf(
    [...sources, ...filesOf('scripts/**.ts')]
      .filter(isJudged)
      // A file may give a type and a value one name.
      .flatMap((path) => [...new Set(Array.from(readFileSync(path, 'utf8').matchAll(declared), ([, name]) => name!))]),
  );
  expect(namesAbove(counts, 1)).toEqual([]);
});

function countsOf(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

const namesAbove = (counts: ReadonlyMap<string, number>, most: number): string[] =>
  [...counts].flatMap(([name, count]) => (count > most ? [name] : [])).sort();
