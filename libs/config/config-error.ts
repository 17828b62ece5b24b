// All problems of a configuration at once. Its message is for the operator's terminal and contains no
// secret: code that adds a problem passes values through `showValue`.
import type { Path } from './printing/schema-walk.js';

export interface ConfigProblem {
  /** The key as written in the file (`models.providers.openai.kind`), or the file or variable itself. */
  key: string;
  message: string;
  /** Where the value is from: `environment PORT`, `signalbox.yaml:12`. */
  origin?: string;
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
