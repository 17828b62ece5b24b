// Whether code parses, by a parser of its language, which is loaded when it is first needed. Languages without one here are
// not judged.
import type { Parser } from '@lezer/common';

interface SyntaxCheck {
  names: readonly string[];
  /** What is wrong; undefined if nothing is. */
  problem(code: string): Promise<string | undefined>;
}

const checks: readonly SyntaxCheck[] = [
  { names: ['json'], problem: async (code) => jsonProblem(code) },
  { names: ['yaml', 'yml'], problem: yamlProblem },
  { names: ['javascript', 'js', 'mjs', 'cjs'], problem: (code) => scriptProblem(code, '') },
  { names: ['jsx'], problem: (code) => scriptProblem(code, 'jsx') },
  { names: ['typescript', 'ts', 'mts', 'cts'], problem: (code) => scriptProblem(code, 'ts') },
  { names: ['tsx'], problem: (code) => scriptProblem(code, 'ts jsx') },
  { names: ['python', 'py', 'python3'], problem: pythonProblem },
];

export type CodeVerdict = { known: false } | { known: true; problem: string | undefined };

export async function checkCode(code: string, language: string | undefined): Promise<CodeVerdict> {
  const name = language?.trim().toLowerCase();
  const check = checks.find(({ names }) => name !== undefined && names.includes(name));
  return check === undefined ? { known: false } : { known: true, problem: await check.problem(code) };
}

function jsonProblem(code: string): string | undefined {
  try {
    JSON.parse(code);
    return undefined;
  } catch (error) {
    return `the JSON does not parse: ${(error as Error).message}`;
  }
}

async function yamlProblem(code: string): Promise<string | undefined> {
  const { parseAllDocuments } = await import('yaml');
  const documents = parseAllDocuments(code, { prettyErrors: false });
  const error = (Array.isArray(documents) ? documents : []).flatMap(({ errors }) => errors)[0];
  return error === undefined ? undefined : `the YAML does not parse: ${error.message}`;
}

async function scriptProblem(code: string, dialect: string): Promise<string | undefined> {
  const { parser } = await import('@lezer/javascript');
  return treeProblem(dialect === '' ? parser : parser.configure({ dialect }), code);
}

async function pythonProblem(code: string): Promise<string | undefined> {
  const { parser } = await import('@lezer/python');
  return treeProblem(parser, code);
}

function treeProblem(parser: Parser, code: string): string | undefined {
  let at: number | undefined;
  parser.parse(code).iterate({
    enter: ({ type, from }) => {
      if (type.isError) at ??= from;
      return at === undefined;
    },
  });
  return at === undefined ? undefined : `the code does not parse: line ${code.slice(0, at).split('\n').length}`;
}
