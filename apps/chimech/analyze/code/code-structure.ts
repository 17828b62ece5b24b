// What an analysis says about code. Lines are counted from 1.

export const codeLanguages = ['typescript', 'javascript', 'python', 'go', 'java', 'rust'] as const;
export type CodeLanguage = (typeof codeLanguages)[number];

export interface CodeFunction {
  /** As written; `(anonymous)` where it has none. Methods without their class. */
  name: string;
  line: number;
  end_line: number;
  lines: number;
  /** The deepest control structure inside: 0 is none. */
  nesting: number;
  /** Functions that it stands in. */
  depth: number;
  /** Cyclomatic; of the functions inside it each has its own. */
  complexity: number;
}

export interface CodeStructure {
  language: CodeLanguage | 'unknown';
  lines: { total: number; blank: number; comment: number };
  functions: CodeFunction[];
  /** How many there are, where fewer are listed above. */
  function_count: number;
  classes: { name: string; line: number; end_line: number }[];
  class_count: number;
  imports: string[];
  comments: number;
  /** Of the code outside of functions. */
  top_level_complexity: number;
  /** Places that the parser could not read, with the first of their lines. */
  unreadable: { places: number; lines: number[] };
}

/** Of code in which nothing was found yet. */
export const nothingFound = (): Omit<CodeStructure, 'language' | 'lines'> => ({
  functions: [],
  function_count: 0,
  classes: [],
  class_count: 0,
  imports: [],
  comments: 0,
  top_level_complexity: 1,
  unreadable: { places: 0, lines: [] },
});
