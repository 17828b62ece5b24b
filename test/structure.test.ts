// What a reader of the sources can rely on, and what no rule of the linter says.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

const sources = execFileSync('git', ['ls-files', 'apps/**.ts', 'clients/**.ts', 'libs/**.ts'], { encoding: 'utf8' })
  .trim()
  .split('\n')
  .filter((path) => !path.endsWith('.test.ts'));
const texts = new Map(sources.map((path) => [path, readFileSync(path, 'utf8')]));

/** The files of ours that a file imports, for types too: the linter leaves those out. */
function importsOf(path: string): string[] {
  const specifiers = [...texts.get(path)!.matchAll(/(?:from|import)\s*'([^']+)'/g)].map(([, specifier]) => specifier!);
  return specifiers
    .map((specifier) => (specifier.startsWith('#libs/') ? specifier.slice(1) : join(dirname(path), specifier)))
    .map((target) => normalize(target).replace(/\.js$/, '.ts'))
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
  const counts = new Map<string, number>();
  for (const path of sources) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  expect([...counts].filter(([, count]) => count > 17)).toEqual([]);
});
