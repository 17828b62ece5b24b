// Expands `${NAME}` in values of the file, from the environment or NAME_FILE; `${NAME:-text}` has a fallback, and `$${` means
// a plain `${`. Refuses literal secrets in the file.
import type { ConfigProblem } from '../config-error.js';
import { formatKey } from '../config-error.js';
import { valueOfText } from '../environment.js';
import type { ParsedFile } from './parse-file.js';
import { hasPassword } from '../secrets.js';
import { settingAt, type Path } from '../printing/schema-walk.js';

export interface Expansion {
  variable(name: string): string | undefined;
  problems: ConfigProblem[];
  /** The used names, so that a provider's key does not enable a second provider. */
  used: Set<string>;
}

const reference = /\$?\$\{([^}]*)\}/g;
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Not expanded here: the worker replaces WORKSPACE with the session's directory. */
const laterNames: ReadonlySet<string> = new Set(['WORKSPACE']);

export function expandTree(file: ParsedFile, expansion: Expansion): Record<string, unknown> {
  return expand(file.tree, []) as Record<string, unknown>;

  function expand(value: unknown, path: Path): unknown {
    if (typeof value === 'string') return expandText(value, path);
    if (Array.isArray(value)) return value.map((item, index) => expand(item, [...path, index]));
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, expand(inner, [...path, key])]));
    }
    return value;
  }

  function expandText(text: string, path: Path): unknown {
    const setting = settingAt(path);
    if (!text.includes('${')) {
      refuseLiteralSecret(text, path);
      return text;
    }
    const expanded = text.replaceAll(reference, (whole, inside: string) => {
      if (whole.startsWith('$$')) return whole.slice(1);
      // Cursor's notation is `${env:NAME}`.
      const inner = path[0] === 'mcpServers' ? inside.replace(/^env:(?!-)/, '') : inside;
      const [, name = inner, fallback] = /^([^:]*):-(.*)$/s.exec(inner) ?? [];
      if (path[0] === 'mcpServers' && laterNames.has(name)) return whole;
      if (!variableName.test(name)) {
        problem(path, `\${${inside}} does not name a variable`);
        return '';
      }
      expansion.used.add(name);
      const value = expansion.variable(name) ?? fallback;
      if (value === undefined) problem(path, `the variable ${name} is not set`);
      return value ?? '';
    });
    return setting === undefined
      ? expanded
      : setting.kind === 'list'
        ? [expanded]
        : valueOfText(expanded, setting.kind);
  }

  function refuseLiteralSecret(text: string, path: Path): void {
    const secrecy = settingAt(path)?.secrecy;
    // Maps of headers and variables also have plain values (`Accept: …`), so only single secrets are refused.
    const inMap = path.length > 1 && settingAt(path.slice(0, -1))?.kind === 'map' && secrecy !== undefined;
    if (inMap || text === '') return;
    if (secrecy === true || (secrecy === 'url' && hasPassword(text))) {
      problem(path, 'is a secret: put it into an environment variable and write ${NAME} here');
    }
  }

  function problem(path: Path, message: string): void {
    expansion.problems.push({ key: formatKey(path), message, origin: file.origin(path) });
  }
}
