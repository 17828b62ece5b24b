// An error with all problems of a configuration. Its message is for the operator and must not contain secrets: use
// `showValue` for values.
import type { Path } from './printing/schema-walk.js';

export interface ConfigProblem {
  /** The key as written in the file (`models.providers.openai.kind`), or the file or variable itself. */
  key: string;
  message: string;
  /** Where the value comes from: `environment PORT`, `signalbox.yaml:12`. */
  origin?: string | undefined;
  /** In the text that was read. */
  at?: TextPosition | undefined;
}

/** Both from 1. */
export interface TextPosition {
  line: number;
  column: number;
}

export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly problems: readonly ConfigProblem[]) {
    super(
      [
        `The configuration has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:`,
        ...problems.map(formatProblem),
      ].join('\n'),
    );
  }
}

export function formatProblem({ key, message, origin }: ConfigProblem): string {
  return `  ${key}: ${message}${origin === undefined ? '' : ` (${origin})`}`;
}

export const formatKey = (path: Path): string => path.join('.');
