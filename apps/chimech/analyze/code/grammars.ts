// The languages that are read, as names of nodes in the syntax trees of Lezer's parsers. A parser is loaded with its first use.
import type { SyntaxNode } from '@lezer/common';
import type { LRParser } from '@lezer/lr';
import type { CodeLanguage } from './code-structure.js';

export interface Grammar {
  load(): Promise<LRParser>;
  /** Nodes that are functions if they have a child of one of these: declarations without a body are none. */
  functions: ReadonlySet<string>;
  bodies: ReadonlySet<string>;
  classes: ReadonlySet<string>;
  imports: ReadonlySet<string>;
  /** Control structures: what is inside is one level deeper. */
  nesting: ReadonlySet<string>;
  /** Nodes that add a path; the function decides where the name does not say enough. */
  decisions: Readonly<Record<string, true | ((text: string, node: SyntaxNode) => boolean)>>;
}

export const commentNodes = new Set(['LineComment', 'BlockComment', 'Comment', 'Hashbang']);

const set = (names: string) => new Set(names.split(' '));
const isLogical = (text: string) => text === '&&' || text === '||' || text === '??';
const hasBody = set('Block Body');

const script: Omit<Grammar, 'load'> = {
  functions: set('FunctionDeclaration FunctionExpression ArrowFunction MethodDeclaration Property'),
  // Of an arrow function everything is; Property is a method only with parameters (analyze-tree.ts).
  bodies: hasBody,
  classes: set('ClassDeclaration ClassExpression InterfaceDeclaration EnumDeclaration'),
  imports: set('ImportDeclaration ExportDeclaration DynamicImport CallExpression'),
  nesting: set('IfStatement ForStatement WhileStatement DoStatement SwitchStatement TryStatement WithStatement'),
  decisions: {
    IfStatement: true,
    ForStatement: true,
    WhileStatement: true,
    DoStatement: true,
    CaseLabel: true,
    CatchClause: true,
    ConditionalExpression: true,
    LogicOp: isLogical,
    UpdateOp: (text) => text === '&&=' || text === '||=' || text === '??=',
  },
};

async function loadScript(dialect: string): Promise<LRParser> {
  const { parser } = await import('@lezer/javascript');
  return parser.configure({ dialect });
}

export const grammars: Record<CodeLanguage, Grammar> = {
  typescript: { ...script, load: () => loadScript('ts') },
  javascript: { ...script, load: () => loadScript('jsx') },
  python: {
    load: async () => (await import('@lezer/python')).parser,
    functions: set('FunctionDefinition LambdaExpression'),
    bodies: hasBody,
    classes: set('ClassDefinition'),
    imports: set('ImportStatement'),
    nesting: set('IfStatement ForStatement WhileStatement TryStatement WithStatement MatchStatement'),
    decisions: {
      if: true,
      elif: true,
      for: true,
      while: true,
      except: true,
      and: true,
      or: true,
      // "case _:" is what is left, as "else".
      case: (_text, { nextSibling }) =>
        nextSibling?.name !== 'CapturePattern' || nextSibling.nextSibling?.name === 'Guard',
    },
  },
  go: {
    load: async () => (await import('@lezer/go')).parser,
    functions: set('FunctionDecl MethodDecl FunctionLiteral'),
    bodies: hasBody,
    classes: set('TypeSpec'),
    imports: set('ImportSpec'),
    nesting: set('IfStatement ForStatement SwitchStatement TypeSwitchStatement SelectStatement'),
    decisions: {
      IfStatement: true,
      ForStatement: true,
      Case: (_text, { firstChild }) => firstChild?.name === 'case',
      LogicOp: isLogical,
    },
  },
  java: {
    load: async () => (await import('@lezer/java')).parser,
    functions: set('MethodDeclaration ConstructorDeclaration CompactConstructorDeclaration LambdaExpression'),
    bodies: set('Block ConstructorBody'),
    classes: set('ClassDeclaration InterfaceDeclaration EnumDeclaration RecordDeclaration AnnotationTypeDeclaration'),
    imports: set('ImportDeclaration'),
    nesting: set(
      'IfStatement ForStatement EnhancedForStatement WhileStatement DoStatement SwitchStatement TryStatement TryWithResourcesStatement SynchronizedStatement',
    ),
    decisions: {
      IfStatement: true,
      ForStatement: true,
      EnhancedForStatement: true,
      WhileStatement: true,
      DoStatement: true,
      SwitchLabel: (text) => text.startsWith('case'),
      CatchClause: true,
      TernaryExpression: true,
      LogicOp: isLogical,
    },
  },
  rust: {
    load: async () => (await import('@lezer/rust')).parser,
    functions: set('FunctionItem ClosureExpression'),
    bodies: hasBody,
    classes: set('StructItem EnumItem UnionItem TraitItem'),
    imports: set('UseDeclaration ExternCrateDeclaration'),
    nesting: set('IfExpression ForExpression WhileExpression LoopExpression MatchExpression'),
    decisions: {
      IfExpression: true,
      ForExpression: true,
      WhileExpression: true,
      LoopExpression: true,
      MatchArm: (text) => !/^_\s*=>/.test(text),
      LogicOp: isLogical,
      TryExpression: true,
    },
  },
};

/** Functions whose body may be an expression. */
export const expressionFunctions = set('ArrowFunction LambdaExpression ClosureExpression');
