// Paths to arguments: the part of JSONPath that names a single value. `$.path`, `$.files[0].name`, `$['odd name']`. No
// wildcards, `..` or filters: with several values it would be unclear whether all or one must match.
import type { Json, JsonObject } from '#libs/schemas/json.js';

export type ArgumentPath = readonly (string | number)[];

const step = /\.([\p{L}_$][\p{L}\p{N}_$-]*)|\[(\d{1,9})\]|\['([^'\\]*)'\]/uy;

/** @throws Error that explains the syntax */
export function parseArgumentPath(text: string): ArgumentPath {
  const path: (string | number)[] = [];
  let at = 1;
  while (text.startsWith('$') && at < text.length) {
    step.lastIndex = at;
    const found = step.exec(text);
    if (found === null) break;
    const [, name, index, quoted] = found;
    path.push(index === undefined ? (name ?? quoted!) : Number(index));
    at = step.lastIndex;
  }
  if (path.length > 0 && at === text.length) return path;
  throw new Error("a path names one value: $.name, $.list[0].name or $['odd name']; wildcards are not supported");
}

/** Undefined if there is no value. Inherited members do not count. */
export function readArgument(args: JsonObject, path: ArgumentPath): Json | undefined {
  let here: Json | undefined = args;
  for (const key of path) {
    if (typeof here !== 'object' || here === null || Array.isArray(here) !== (typeof key === 'number'))
      return undefined;
    if (!Object.hasOwn(here, key)) return undefined;
    here = (here as Record<string | number, Json>)[key];
  }
  return here;
}
