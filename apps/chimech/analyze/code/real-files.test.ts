// Files of npm packages, whose functions the compiler of TypeScript counts independently of us.
import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { expect } from 'vitest';
import { verifies } from '../../../../test/verifies.js';
import { analyzeCode } from './analyze-code.js';
import type { CodeStructure } from './code-structure.js';

interface Counted {
  functions: { line: number; end_line: number; complexity: number }[];
  classes: number;
  topLevel: number;
}

const logical = new Set([
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
  ts.SyntaxKind.AmpersandAmpersandEqualsToken,
  ts.SyntaxKind.BarBarEqualsToken,
  ts.SyntaxKind.QuestionQuestionEqualsToken,
]);

function isDecision(node: ts.Node): boolean {
  return (
    ts.isIfStatement(node) ||
    ts.isIterationStatement(node, false) ||
    ts.isCaseClause(node) ||
    ts.isCatchClause(node) ||
    ts.isConditionalExpression(node) ||
    (ts.isBinaryExpression(node) && logical.has(node.operatorToken.kind))
  );
}

function countWithTypeScript(path: string, text: string): Counted {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const lineAt = (offset: number) => file.getLineAndCharacterOfPosition(offset).line + 1;
  const counted: Counted = { functions: [], classes: 0, topLevel: 1 };
  const visit = (node: ts.Node, inside: { complexity: number }) => {
    let unit = inside;
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const start = lineAt(node.getStart());
      const counting = { line: start, end_line: lineAt(node.getEnd() - 1), complexity: 1 };
      counted.functions.push(counting);
      unit = counting;
    }
    if (ts.isClassLike(node) || ts.isInterfaceDeclaration(node) || ts.isEnumDeclaration(node)) counted.classes += 1;
    if (isDecision(node)) unit.complexity += 1;
    ts.forEachChild(node, (child) => visit(child, unit));
  };
  const outside = { complexity: 1 };
  visit(file, outside);
  counted.topLevel = outside.complexity;
  return counted;
}

const javascript = [
  'fastify/fastify.js',
  'fastify/lib/route.js',
  'fastify/lib/reply.js',
  'undici/lib/dispatcher/client-h1.js',
  'undici/lib/web/fetch/index.js',
  'ioredis/built/Redis.js',
  'pg/lib/client.js',
  'zod/v4/core/schemas.js',
  'yaml/dist/compose/composer.js',
  'ajv/dist/core.js',
  'papaparse/papaparse.js',
  'bullmq/dist/cjs/classes/worker.js',
];
const typescript = ['zod/src/v4/core/schemas.ts', 'zod/src/v4/core/util.ts', 'zod/src/v3/types.ts'];
const own = ['libs/policy/compile-policy.ts', 'libs/http-client/exchange.ts', 'apps/gateway/turn/loop.ts'];

const paths = [...javascript, ...typescript].map((path) => `node_modules/${path}`).concat(own);

verifies('chimech.analyze.code', `${paths.length} real files against the compiler of TypeScript`, async () => {
  let functions = 0;
  for (const path of paths) {
    const text = readFileSync(path, 'utf8').replace(/\r\n?/g, '\n');
    const expected = countWithTypeScript(path, text);
    const { structure } = await analyzeCode({ type: 'code', content: text });
    const found = structure as CodeStructure;
    expect({ path, language: found.language }).toEqual({
      path,
      language: path.endsWith('.ts') ? 'typescript' : 'javascript',
    });
    // The parser stumbles over some syntax of TypeScript (docs/chimech-analyze.md), and loses no function by it.
    if (!typescript.some((name) => path.endsWith(name))) {
      expect({ path, ...found.unreadable }).toEqual({ path, places: 0, lines: [] });
    }
    expect({ path, functions: found.function_count, classes: found.class_count }).toEqual({
      path,
      functions: expected.functions.length,
      classes: expected.classes,
    });
    const listed = found.functions.map(({ line, end_line, complexity }) => ({ line, end_line, complexity }));
    expect({ path, listed }).toEqual({ path, listed: expected.functions.slice(0, listed.length) });
    expect({ path, topLevel: found.top_level_complexity }).toEqual({ path, topLevel: expected.topLevel });
    functions += expected.functions.length;
  }
  expect(functions).toBeGreaterThan(1_500);
});
