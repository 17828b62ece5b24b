// Reads `.env` of the working directory into the environment, once a process, with Node's own parser. A variable that the
// environment has already stays as it is, also an empty one. Refuses a file of which the parser would lose a line.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { ConfigError, type ConfigProblem } from '../config-error.js';

export const envFileName = '.env';

export interface EnvFile {
  path: string;
  /** The variables whose values come from the file. */
  names: ReadonlySet<string>;
}

let read: { file: EnvFile | undefined } | undefined;

/** The environment of this process, with what `.env` adds to it. @throws ConfigError */
export function processEnvironment(): NodeJS.ProcessEnv {
  read ??= { file: readEnvFile(resolve(envFileName), process.env) };
  return process.env;
}

/** The file that was read, if there is one. @throws ConfigError */
export function envFileInForce(): EnvFile | undefined {
  processEnvironment();
  return read?.file;
}

/** Adds the file's variables to the environment. Undefined if there is no such file. @throws ConfigError */
export function readEnvFile(path: string, environment: Record<string, string | undefined>): EnvFile | undefined {
  const text = textOf(path);
  if (text === undefined) return undefined;
  const problems = problemsIn(text);
  if (problems.length > 0) throw new ConfigError(problems);
  const names = new Set<string>();
  for (const [name, value] of Object.entries(parseEnv(text))) {
    environment[name] ??= value;
    if (environment[name] === value) names.add(name);
  }
  return { path, names };
}

function textOf(path: string): string | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unreadable';
    if (code === 'ENOENT') return undefined;
    const why =
      code === 'EISDIR' ? 'is a directory: settings are read from a file of this name' : `cannot be read: ${code}`;
    throw new ConfigError([{ key: envFileName, message: why }]);
  }
  try {
    // Removes a byte order mark, too.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ConfigError([{ key: envFileName, message: 'is not text in UTF-8: save it as UTF-8' }]);
  }
}

const assignment = /^\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=\s*(.*)$/;

/** At text that it does not understand, Node's parser reads on and loses the next lines. */
function problemsIn(text: string): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const lines = text.split(/\r?\n/);
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at]!;
    if (/^\s*(?:#|$)/.test(line)) continue;
    const number = at + 1;
    const problem = (message: string) => problems.push({ key: `${envFileName}:${number}`, message });
    const [, name, value = ''] = assignment.exec(line) ?? [];
    if (name === undefined) {
      // Not the line itself: it may be a secret.
      problem('is neither NAME=value nor a comment, which begins with #');
      continue;
    }
    const quote = /^["'`]/.exec(value)?.[0];
    if (quote === undefined) {
      if (/\S#/.test(value))
        problem(`${name} has a # in its value, which begins a comment: put quotes around the value`);
      continue;
    }
    let rest = value.slice(1);
    while (!rest.includes(quote) && at + 1 < lines.length) rest = lines[(at += 1)]!;
    if (!rest.includes(quote)) {
      problem(`the value of ${name} begins with ${quote}, which is not closed`);
      at = number - 1;
    } else if (!/^\s*(?:#|$)/.test(rest.slice(rest.indexOf(quote) + 1))) {
      problem(`the value of ${name} has text after its closing ${quote}`);
      at = number - 1;
    }
  }
  return problems;
}
