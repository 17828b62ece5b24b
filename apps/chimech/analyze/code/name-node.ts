// What a function, a class or an import of a syntax tree is called.
import type { SyntaxNode } from '@lezer/common';

const anonymous = '(anonymous)';
const maxNameLength = 120;

const nameNodes = new Set([
  'VariableDefinition',
  'PropertyDefinition',
  'PrivatePropertyDefinition',
  'TypeDefinition',
  'VariableName',
  'DefName',
  'FieldName',
  'Definition',
  'BoundIdentifier',
  'TypeIdentifier',
  'Identifier',
]);
/** What stands before the name of a function, or after it: names in there are others. */
const beyondName = new Set([
  'ParamList',
  'FormalParameters',
  'Block',
  'Body',
  'ClassBody',
  'ArgList',
  'extends',
  'Arrow',
]);

export function nameOf(node: SyntaxNode, content: string): string {
  if (node.name === 'LambdaExpression' || node.name === 'ClosureExpression' || node.name === 'ArrowFunction') {
    return nameOfHolder(node, content);
  }
  for (let child = node.firstChild; child !== null && !beyondName.has(child.name); child = child.nextSibling) {
    if (nameNodes.has(child.name)) return textOf(child, content);
    // ["computed"]() {}
    if (node.name === 'Property' || node.name === 'MethodDeclaration') {
      if (['String', 'Number', 'TemplateString', 'MemberExpression'].includes(child.name))
        return textOf(child, content);
    }
  }
  return nameOfHolder(node, content);
}

/** Of what a function without a name is put into: `const name = …`, `name: …`, `object.name = …`. */
function nameOfHolder(node: SyntaxNode, content: string): string {
  const holders = new Set([
    'VariableDeclaration',
    'Property',
    'PropertyDeclaration',
    'AssignmentExpression',
    'VarDecl',
  ]);
  const others = new Set(['AssignStatement', 'VariableDeclarator', 'LetDeclaration']);
  const parent = node.parent;
  if (parent === null || !(holders.has(parent.name) || others.has(parent.name))) return anonymous;
  for (let before = node.prevSibling; before !== null; before = before.prevSibling) {
    if (nameNodes.has(before.name) || before.name === 'MemberExpression' || before.name === 'String') {
      return textOf(before, content);
    }
  }
  return anonymous;
}

/** The modules that a node of an import names: none where it is something else, such as an export of its own. */
export function importedModules(node: SyntaxNode, content: string): string[] {
  switch (node.name) {
    case 'ImportDeclaration':
    case 'ExportDeclaration':
    case 'DynamicImport':
    case 'ImportSpec': {
      const module = node.getChild('String');
      if (module !== null) return [unquote(textOf(module, content))];
      // Java names a class or, with a star, a package.
      const path = node.getChild('ScopedIdentifier') ?? node.getChild('Identifier');
      if (path === null || node.name !== 'ImportDeclaration') return [];
      return [textOf(path, content) + (node.getChild('Asterisk') === null ? '' : '.*')];
    }
    case 'CallExpression': {
      if (node.firstChild?.name !== 'VariableName' || textOf(node.firstChild, content) !== 'require') return [];
      const module = node.getChild('ArgList')?.getChild('String');
      return module === null || module === undefined ? [] : [unquote(textOf(module, content))];
    }
    case 'ImportStatement': {
      const text = textOf(node, content);
      if (text.startsWith('from')) return [text.slice('from'.length).split(' import')[0]!.trim()];
      const names = text.slice('import'.length).split(',');
      return names.map((name) => name.trim().split(' as ')[0]!.trim());
    }
    default:
      return [
        textOf(node, content)
          .replace(/^.*?\b(?:use|crate) /, '')
          .replace(/;$/, ''),
      ];
  }
}

function textOf({ from, to }: SyntaxNode, content: string): string {
  return content.slice(from, Math.min(to, from + maxNameLength)).replace(/\s+/g, ' ');
}

function unquote(text: string): string {
  return text.replace(/^["'`]|["'`]$/g, '');
}
