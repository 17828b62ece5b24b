// Reads the JSON Schema of the configuration: which keys exist, their kinds, and which are secret.
import { z } from 'zod';
import { configSchema } from '../schema.js';

export type Path = readonly (string | number)[];
export type SettingKind = 'text' | 'number' | 'boolean' | 'list' | 'map';
/** `true`: the whole value; `url`: the password in it. */
export type Secrecy = true | 'url' | undefined;

export interface Setting {
  path: string[];
  kind: SettingKind | 'object';
  secrecy: Secrecy;
  description: string;
  /** Undefined if there is none. */
  defaultValue: string | number | boolean | object | undefined;
  choices: string[] | undefined;
}

export const valueAt = (tree: unknown, path: Path): unknown =>
  path.reduce<unknown>((here, key) => (here as Record<string | number, unknown> | null | undefined)?.[key], tree);

type Node = z.core.JSONSchema.JSONSchema;

const root: Node = z.toJSONSchema(configSchema, { io: 'input' });
const kinds: Record<string, SettingKind> = { number: 'number', integer: 'number', boolean: 'boolean', array: 'list' };

function child({ properties, anyOf, additionalProperties, items }: Node, key: string | number): Node | undefined {
  if (properties !== undefined) return Object.hasOwn(properties, key) ? (properties[key] as Node) : undefined;
  // For a union, the alternative that has this key.
  if (anyOf !== undefined) return anyOf.map((each) => child(each, key)).find((each) => each !== undefined);
  return (additionalProperties || items || undefined) as Node | undefined;
}

function nodeAt(path: Path): { node: Node; secrecy: Secrecy } | undefined {
  let node = root;
  let secrecy: Secrecy;
  for (const key of path) {
    const next = child(node, key);
    if (next === undefined) return undefined;
    node = next;
    secrecy ??= node['secret'] as Secrecy;
  }
  return { node, secrecy };
}

function kindOf({ type, properties }: Node): Setting['kind'] {
  if (type === 'object') return properties === undefined ? 'map' : 'object';
  return kinds[String(type)] ?? 'text';
}

/** The kind and secrecy of a path; undefined if there is no such key. Everything inside a secret is secret. */
export function settingAt(path: Path): Pick<Setting, 'kind' | 'secrecy'> | undefined {
  const found = nodeAt(path);
  return found && { kind: kindOf(found.node), secrecy: found.secrecy };
}

/** The keys of the object at this path; none for maps, which may have any keys. */
export const knownKeys = (path: Path): string[] => Object.keys(nodeAt(path)?.node.properties ?? {});

/** Every setting with a fixed path, in the order of the schema. Each map (providers, servers, aliases) is one setting. */
export const settings: readonly Setting[] = leaves(root, []);

/** The settings of an entry of a map, with paths relative to the entry. */
export const entrySettings = (path: Path): Setting[] => leaves(nodeAt([...path, 'any'])!.node, []);

function leaves(node: Node, path: string[]): Setting[] {
  if (node.properties !== undefined) {
    return Object.entries(node.properties).flatMap(([key, inner]) => leaves(inner as Node, [...path, key]));
  }
  const choices = [node, ...(node.anyOf ?? [])].find((each) => each.enum !== undefined)?.enum;
  return [
    {
      path,
      kind: kindOf(node),
      secrecy: node['secret'] as Secrecy,
      description: node.description ?? '',
      defaultValue: node.default as Setting['defaultValue'],
      choices: choices?.map(String),
    },
  ];
}
