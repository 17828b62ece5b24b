import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { runInThisContext } from 'node:vm';
import ts from 'typescript';
import { expect, test } from 'vitest';

const { before } = createRequire(import.meta.url)('./leading-spread.cjs') as {
  before: () => ts.TransformerFactory<ts.SourceFile>;
};

function emitted(source: string): string {
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  const { outputText } = ts.transpileModule(source, { compilerOptions, transformers: { before: [before()] } });
  return outputText.replace('"use strict";\n', '');
}

test('a literal that begins with a spread is emitted with an empty one before it, and means the same', () => {
  const code = emitted('({ ...{ a: 1, b: 2 }, b: 3, c: { ...{ d: 4 }, e: 5 }, ...undefined })');
  expect(code.match(/\.\.\.\{\}/g)).toHaveLength(2);
  expect(runInThisContext(code)).toEqual({ a: 1, b: 3, c: { d: 4, e: 5 } });
});

test('nothing else changes', () => {
  for (const source of ['({ ...a });\n', '({ b: 1, ...a });\n', '({ a, ...b } = c);\n', '[...a, b];\n']) {
    expect(emitted(source)).toBe(source);
  }
});

test('objects that are made so have one shape', () => {
  const program = emitted(`const make = (a) => ({ ...a, z: 1 });
    for (let index = 0; index < 1000; index += 1) make({ x: index, y: 2 });
    const [one, other] = [make({ x: 1, y: 2 }), make({ x: 3, y: 4 })];`);
  const asked = `${program} console.log(%HaveSameMap(one, other));`;
  const { stdout } = spawnSync(process.execPath, ['--allow-natives-syntax', '-e', asked], { encoding: 'utf8' });
  expect(stdout).toBe('true\n');
});
