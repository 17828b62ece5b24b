import { expect } from 'vitest';
import { verifies } from '../../../../test/verifies.js';
import { analyzeCode, codeComplexity } from './analyze-code.js';
import type { CodeStructure } from './code-structure.js';

async function read(content: string, language?: string) {
  const findings = await analyzeCode({ type: 'code', content, language });
  return { ...findings, structure: findings.structure as CodeStructure };
}

const figures = ({ functions }: CodeStructure) =>
  functions.map(({ name, line, end_line, nesting, depth, complexity }) => [
    name,
    line,
    end_line,
    nesting,
    depth,
    complexity,
  ]);

verifies('chimech.analyze.code', 'TypeScript', async () => {
  const { structure } = await read(`import { a } from './a.js';
import type { B } from 'b';
export { c } from './c.js';
/** A class. */
export class Box<T> extends Base {
  private readonly open = (key: string) => key && this.#key;
  constructor(readonly size: number) { super(); }
  get area(): number {
    for (const side of this.sides) {
      if (side > 1) return 1;
      else if (side > 2 || side < 0) return 2;
    }
    return this.size ?? 0; // none
  }
  abstract later(): void;
}
function overload(a: string): void;
function overload(a: unknown) { [1].map((x) => (x ? 1 : 2)); }
interface Shape { draw(): void }
const later = await import('later');
`);
  expect(structure).toMatchObject({
    language: 'typescript',
    lines: { total: 20, blank: 0, comment: 2 },
    imports: ['./a.js', 'b', './c.js', 'later'],
    comments: 2,
    unreadable: { places: 0 },
  });
  expect(structure.classes.map(({ name, line }) => [name, line])).toEqual([
    ['Box', 5],
    ['Shape', 19],
  ]);
  expect(figures(structure)).toEqual([
    ['open', 6, 6, 0, 0, 2],
    ['constructor', 7, 7, 0, 0, 1],
    ['area', 8, 14, 2, 0, 6],
    ['overload', 18, 18, 0, 0, 1],
    ['(anonymous)', 18, 18, 0, 1, 2],
  ]);
});

verifies('chimech.analyze.code', 'Python', async () => {
  const { structure, answerLanguage } = await read(`import os, sys as system
from a.b import c

class A(B):
    """doc"""
    @dec
    async def m(self, x=1):
        # 这是一个函数的注释
        if x and y:
            for i in range(3):
                pass
        elif z:
            pass
        try:
            pass
        except E:
            return [i for i in x if i]
        match x:
            case 1: pass
            case _: pass

double = lambda x: x * 2 if x else 0
`);
  expect(structure).toMatchObject({
    language: 'python',
    imports: ['os', 'sys', 'a.b'],
    classes: [{ name: 'A', line: 4, end_line: 20 }],
    comments: 1,
  });
  expect(figures(structure)).toEqual([
    ['m', 7, 20, 2, 0, 9],
    ['double', 22, 22, 0, 0, 2],
  ]);
  expect(answerLanguage).toBe('zh');
});

verifies('chimech.analyze.code', 'Go', async () => {
  const { structure } = await read(`package main

import (
	"fmt"
	q "os"
)

type Greeter struct{ name string }

func (g *Greeter) Greet(times int) error {
	for i := 0; i < times; i++ {
		if i%2 == 0 && g.name != "" {
			fmt.Println(g.name)
		}
	}
	switch times {
	case 1, 2:
		return nil
	default:
	}
	done := func() {}
	return nil
}
`);
  expect(structure).toMatchObject({ language: 'go', imports: ['fmt', 'os'], classes: [{ name: 'Greeter', line: 8 }] });
  expect(figures(structure)).toEqual([
    ['Greet', 10, 23, 2, 0, 5],
    ['done', 21, 21, 0, 1, 1],
  ]);
});

verifies('chimech.analyze.code', 'Java', async () => {
  const { structure } = await read(`package a;
import java.util.*;
import static java.lang.Math.max;

public class A<T> extends B implements C {
  A() { super(); }
  @Override
  public int m(int x) throws E {
    while (x > 0 || done) { x--; }
    switch (x) { case 1: case 2: break; default: }
    try { run(() -> x > 1 ? 1 : 2); } catch (E e) { }
    return x;
  }
  abstract void none();
  record R(int a) { R { } }
}
`);
  expect(structure).toMatchObject({
    language: 'java',
    imports: ['java.util.*', 'java.lang.Math.max'],
    unreadable: { places: 0 },
  });
  expect(structure.classes.map(({ name }) => name)).toEqual(['A', 'R']);
  expect(figures(structure)).toEqual([
    ['A', 6, 6, 0, 0, 1],
    ['m', 7, 13, 1, 0, 6],
    ['(anonymous)', 11, 11, 0, 1, 2],
    ['R', 15, 15, 0, 0, 1],
  ]);
});

verifies('chimech.analyze.code', 'Rust', async () => {
  const { structure } = await read(`use std::io::{self, Read};
extern crate serde;

pub struct S<T> { a: T }
trait Draw { fn draw(&self); fn size(&self) -> u8 { 1 } }

impl<T> S<T> {
    pub async fn m(&self) -> Result<()> {
        if a && b { } else if let Some(x) = y { }
        loop { break }
        match x { 1 | 2 => {}, n if n > 1 => {}, _ => {} }
        let double = |x| x + 1;
        let z = read()?;
        Ok(())
    }
}
`);
  expect(structure).toMatchObject({ language: 'rust', imports: ['std::io::{self, Read}', 'serde'] });
  expect(structure.classes.map(({ name }) => name)).toEqual(['S', 'Draw']);
  expect(figures(structure)).toEqual([
    ['size', 5, 5, 0, 0, 1],
    ['m', 8, 15, 1, 0, 8],
    ['double', 12, 12, 0, 1, 1],
  ]);
});

verifies('chimech.analyze.code', 'scores by hand', () => {
  expect(codeComplexity([1])).toBe(0);
  // A mean of 4 is a third of the way to 10, a highest of 8 a seventh of the way to 50.
  expect(codeComplexity([2, 2, 8])).toBe(23.8);
  expect(codeComplexity([60])).toBe(100);
});

verifies('chimech.analyze.code', 'languages are guessed from snippets, or not at all', async () => {
  const guessed = async (content: string) => (await read(content)).structure.language;
  expect(await guessed('const a = () => 1;\nmodule.exports = a;')).toBe('javascript');
  expect(await guessed('const View = () => <div className="a">{items.map((i) => <b key={i}/>)}</div>;')).toBe(
    'javascript',
  );
  expect(await guessed('export const View = (p: Props): JSX.Element => <div>{p.name}</div>;')).toBe('typescript');
  expect(await guessed('def f(x):\n    return x + 1\n')).toBe('python');
  expect(await guessed('fn main() {\n    println!("hi");\n}\n')).toBe('rust');
  expect(await guessed('This is prose and not code at all, it says nothing.\nOr does it? No.\n')).toBe('unknown');
  expect(await guessed('SELECT * FROM users WHERE id = 1;')).toBe('unknown');
});

verifies('chimech.analyze.bad-content', 'damaged code says where, and what could be read is reported', async () => {
  const { structure, warnings } = await read(
    'function good(a) {\n  return a;\n}\nfunction bad( { if (a { return 1;\n}\nconst after = () => 1;\n',
    'js',
  );
  expect(structure.functions.map(({ name }) => name)).toContain('good');
  expect(structure.unreadable.places).toBeGreaterThan(0);
  expect(structure.unreadable.lines[0]).toBe(4);
  expect(warnings[0]).toMatch(/could not read \d+ places? \(line 4.*damaged/);
  await expect(read('x', 'cobol')).rejects.toMatchObject({
    code: 'INVALID_PARAMS',
    message: expect.stringContaining('rust') as string,
  });
});
