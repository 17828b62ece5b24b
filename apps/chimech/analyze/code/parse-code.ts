// Syntax trees, with the number of places that could not be read.
import type { Tree } from '@lezer/common';
import type { LRParser } from '@lezer/lr';
import type { CodeLanguage } from './code-structure.js';
import { grammars } from './grammars.js';

export interface ParsedCode {
  tree: Tree;
  errors: number;
}

export async function parseCode(content: string, language: CodeLanguage): Promise<ParsedCode> {
  const parsed: ParsedCode[] = [];
  for (const parser of await parsersOf(content, language)) {
    parsed.push(withErrors(parser.parse(content)));
    if (parsed.at(-1)!.errors === 0) break;
  }
  return parsed.sort((a, b) => a.errors - b.errors)[0]!;
}

/** How far the content can be read without an error: recovering from many takes long. */
export async function readableLength(content: string, language: CodeLanguage): Promise<number> {
  let length = 0;
  for (const parser of await parsersOf(content, language)) {
    try {
      parser.configure({ strict: true }).parse(content);
      return content.length;
    } catch (error) {
      const offset = /No parse at (\d+)/.exec((error as Error).message)?.[1];
      if (offset === undefined) throw error;
      length = Math.max(length, Number(offset));
    }
  }
  return length;
}

/** Tags and type assertions are written alike: TypeScript has a dialect with each. */
async function parsersOf(content: string, language: CodeLanguage): Promise<LRParser[]> {
  const parser = await grammars[language].load();
  if (language !== 'typescript' || !/<\/|\/>/.test(content)) return [parser];
  return [parser, parser.configure({ dialect: 'ts jsx' })];
}

function withErrors(tree: Tree): ParsedCode {
  let errors = 0;
  tree.iterate({
    enter: ({ type }) => {
      if (type.isError) errors += 1;
    },
  });
  return { tree, errors };
}
