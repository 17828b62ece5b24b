// Reads the zod schema of the configuration as data: which keys exist, their kinds, and which are secret.
import type { z } from 'zod';
import { configSchema } from '../schema.js';

export type Path = readonly (string | number)[];
export type SettingKind = 'text' | 'number' | 'boolean' | 'list' | 'map';
/** `true`: the whole value; `url`: the password in it. */
export type Secrecy = true | 'url' | undefined;

interface Definition {
  type: string;
  innerType?: Node;
  element?: Node;
  valueType?: Node;
  options?: Node[];
  defaultValue?: Setting['defaultValue'];
}
type Node = z.ZodType & { def: Definition; shape?: Record<string, Node> };

/** A schema without its optional, default and prefault layers, and the metadata of those layers. */
interface Bare {
  node: Node;
  secrecy: Secrecy;
  description?: string;
  defaultValue?: Setting['defaultValue'];
}

function bare(schema: Node): Bare {
  let node = schema;
  let secrecy: Secrecy;
  let description: string | undefined;
  let defaultValue: Setting['defaultValue'];
  for (;;) {
    const meta = node.meta() as { secret?: true | 'url'; description?: string } | undefined;
    secrecy ??= meta?.secret;
    description ??= meta?.description;
    if (node.def.type === 'default') defaultValue = node.def.defaultValue;
    if (node.def.innerType === undefined) break;
    node = node.def.innerType;
  }
  return { node, secrecy, ...(description === undefined ? {} : { description }), defaultValue };
}

function child(node: Node, key: string | number): Node | undefined {
  if (node.shape !== undefined) return Object.hasOwn(node.shape, key) ? node.shape[key] : undefined;
  if (node.def.options === undefined) return node.def.valueType ?? node.def.element;
  // For a union, the alternative that has this key.
  const inner = node.def.options.map((option) => child(bare(option).node, key));
  return inner.find((each) => each !== undefined);
}

const kinds: Record<string, SettingKind> = { number: 'number', boolean: 'boolean', array: 'list', record: 'map' };
const root = configSchema as unknown as Node;

/** The kind and secrecy of a path; undefined if there is no such key. Everything inside a secret is secret. */
export function settingAt(path: Path): { kind: SettingKind | 'object'; secrecy: Secrecy } | undefined {
  let here = bare(root);
  let { secrecy } = here;
  for (const key of path) {
    const next = child(here.node, key);
    if (next === undefined) return undefined;
    here = bare(next);
    secrecy ??= here.secrecy;
  }
  return { kind: here.node.shape === undefined ? (kinds[here.node.def.type] ?? 'text') : 'object', secrecy };
}

/** The keys of the object at this path; none for maps, which may have any keys. */
export function knownKeys(path: Path): string[] {
  let here = bare(root);
  for (const key of path) {
    const next = child(here.node, key);
    if (next === undefined) return [];
    here = bare(next);
  }
  return Object.keys(here.node.shape ?? {});
}

export interface Setting {
  path: string[];
  kind: SettingKind;
  secrecy: Secrecy;
  description: string;
  /** Undefined if there is none. */
  defaultValue: string | number | boolean | object | undefined;
  choices?: string[];
}

/** Every setting with a fixed path, in the order of the schema. Each map (providers, servers, aliases) is one setting. */
export const settings: readonly Setting[] = leaves(root, []);

/** The settings of an entry of a map, with paths relative to the entry. */
export function entrySettings(path: Path): Setting[] {
  let here = bare(root);
  for (const key of path) here = bare(child(here.node, key)!);
  return leaves(here.node.def.valueType!, []);
}

function leaves(schema: Node, path: string[]): Setting[] {
  const { node, secrecy, description, defaultValue } = bare(schema);
  if (node.shape !== undefined) {
    return Object.entries(node.shape).flatMap(([key, inner]) => leaves(inner, [...path, key]));
  }
  const words = [node, ...(node.def.options ?? [])].find(({ def }) => def.type === 'enum');
  const choices = (words as unknown as z.ZodEnum | undefined)?.options.map(String);
  return [
    {
      path,
      kind: kinds[node.def.type] ?? 'text',
      secrecy,
      description: description ?? '',
      defaultValue,
      ...(choices === undefined ? {} : { choices }),
    },
  ];
}
