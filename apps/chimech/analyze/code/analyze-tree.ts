// Walks a syntax tree once: functions with their nesting and complexity, classes, imports, comments, and what is damaged.
import type { SyntaxNodeRef, Tree } from '@lezer/common';
import { type CodeFunction, type CodeStructure, nothingFound } from './code-structure.js';
import { commentNodes, expressionFunctions, type Grammar } from './grammars.js';
import { importedModules, nameOf } from './name-node.js';

/** Functions, classes and imports that are listed; the counts are of all. */
const maxListed = 500;
const maxLinesOfErrors = 20;

export interface TreeFindings extends Omit<CodeStructure, 'language' | 'lines'> {
  commentLines: number;
  /** The text of the comments, as far as it tells their language. */
  commentText: string;
  /** Cyclomatic complexity of each function, and of what is outside if it decides anything. */
  complexities: number[];
  identifiers: Map<string, number>;
}

interface Unit {
  complexity: number;
  nesting: number;
  deepest: number;
}

const identifierNodes =
  /^(?:VariableName|VariableDefinition|Identifier|BoundIdentifier|DefName|TypeIdentifier|TypeName)$/;

export function analyzeTree(tree: Tree, grammar: Grammar, content: string): TreeFindings {
  const lineAt = lineFinder(content);
  const found: TreeFindings = {
    ...nothingFound(),
    commentLines: 0,
    commentText: '',
    complexities: [],
    identifiers: new Map(),
  };
  const outside: Unit = { complexity: 1, nesting: 0, deepest: 0 };
  /** The innermost is last. */
  const open: { unit: Unit; entry: CodeFunction }[] = [];
  const unit = () => open.at(-1)?.unit ?? outside;
  let lastCommentLine = 0;

  const enter = (node: SyntaxNodeRef) => {
    const { name, from, to } = node;
    if (node.type.isError) {
      found.unreadable.places += 1;
      const line = lineAt(from);
      const { lines } = found.unreadable;
      if (lines.length < maxLinesOfErrors && lines.at(-1) !== line) lines.push(line);
      return;
    }
    if (commentNodes.has(name)) {
      found.comments += 1;
      const first = Math.max(lineAt(from), lastCommentLine + 1);
      lastCommentLine = Math.max(lastCommentLine, lineAt(Math.max(from, to - 1)));
      found.commentLines += Math.max(0, lastCommentLine - first + 1);
      if (found.commentText.length < 4_000) found.commentText += `${content.slice(from, Math.min(to, from + 4_000))}\n`;
      return;
    }
    if (identifierNodes.test(name)) {
      const text = content.slice(from, Math.min(to, from + 100));
      found.identifiers.set(text, (found.identifiers.get(text) ?? 0) + 1);
    }
    if (isFunction(node, grammar)) {
      const entry = {
        name: nameOf(node.node, content),
        line: lineAt(from),
        end_line: lineAt(endOf(content, from, to)),
        lines: 0,
        nesting: 0,
        depth: open.length,
        complexity: 1,
      };
      entry.lines = entry.end_line - entry.line + 1;
      open.push({ unit: { complexity: 1, nesting: 0, deepest: 0 }, entry });
      found.function_count += 1;
      if (found.functions.length < maxListed) found.functions.push(entry);
    }
    if (grammar.classes.has(name)) {
      found.class_count += 1;
      if (found.classes.length < maxListed) {
        found.classes.push({
          name: nameOf(node.node, content),
          line: lineAt(from),
          end_line: lineAt(endOf(content, from, to)),
        });
      }
    }
    if (grammar.imports.has(name)) {
      for (const module of importedModules(node.node, content)) {
        if (found.imports.length < maxListed && !found.imports.includes(module)) found.imports.push(module);
      }
    }
    const decision = Object.hasOwn(grammar.decisions, name) ? grammar.decisions[name] : undefined;
    if (decision === true || decision?.(content.slice(from, Math.min(to, from + 100)), node.node) === true) {
      unit().complexity += 1;
    }
    if (deepens(node, grammar)) {
      unit().nesting += 1;
      unit().deepest = Math.max(unit().deepest, unit().nesting);
    }
  };
  const leave = (node: SyntaxNodeRef) => {
    if (deepens(node, grammar)) unit().nesting -= 1;
    if (!isFunction(node, grammar)) return;
    const { unit: closed, entry } = open.pop()!;
    entry.complexity = closed.complexity;
    entry.nesting = closed.deepest;
    found.complexities.push(closed.complexity);
  };
  tree.iterate({ enter, leave });

  found.top_level_complexity = outside.complexity;
  if (outside.complexity > 1 || found.complexities.length === 0) found.complexities.push(outside.complexity);
  return found;
}

function isFunction({ name, node }: SyntaxNodeRef, { functions, bodies }: Grammar): boolean {
  if (!functions.has(name)) return false;
  if (expressionFunctions.has(name)) return true;
  let hasParameters = name !== 'Property';
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (child.name === 'ParamList') hasParameters = true;
    if (hasParameters && bodies.has(child.name)) return true;
  }
  return false;
}

/** "else if" is no deeper than its "if". */
function deepens({ name, node }: SyntaxNodeRef, { nesting }: Grammar): boolean {
  if (!nesting.has(name)) return false;
  return node.parent?.name !== name || node.prevSibling?.name !== 'else';
}

/** The last character that is not white space: a block of Python ends behind its line. */
function endOf(content: string, from: number, to: number): number {
  let end = to - 1;
  while (end > from && /\s/.test(content[end]!)) end -= 1;
  return Math.max(from, end);
}

function lineFinder(content: string): (offset: number) => number {
  const starts = [0];
  for (let at = content.indexOf('\n'); at !== -1; at = content.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}
