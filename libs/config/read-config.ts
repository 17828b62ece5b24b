// Reads the configuration: defaults, then the file, then the environment. Pure: load-config.ts reads files and process.env.
// Throws one error with all problems.
import { checkConfig } from './check-config.js';
import { ConfigError, formatKey, type ConfigProblem } from './config-error.js';
import { envFileName } from './files/env-file.js';
import { environmentSettings, knownProviders, valueOfText, withApiPath } from './environment.js';
import { expandTree, type Expansion } from './files/expand-variables.js';
import { parseFile, type ParsedFile } from './files/parse-file.js';
import { readPolicyFile } from './policy-file.js';
import { noteProviderSources } from './provider-sources.js';
import { problemsOf } from './problems-of.js';
import { configSchema, type Config } from './schema.js';
import { type Path, valueAt } from './printing/schema-walk.js';
import { makeUnprintable } from './secrets.js';

export interface ConfigSource {
  environment: Readonly<Record<string, string | undefined>>;
  fromEnvFile?: ReadonlySet<string>;
  file?: { path: string; text: string };
  /** Reads the file that a `…_FILE` variable names. Throws if it cannot. */
  readSecretFile?: (path: string) => string;
  /** Reads the file that `policy.file` names, relative to the configuration file. Throws if it cannot. */
  readPolicyFile?: (path: string) => string;
  /** A file that replaces the configured policy, to test it. */
  policyDraft?: string;
}

/** The origin of each key's value: `environment PORT`, `.env PORT`, or `signalbox.yaml:12`. Defaults have no entry. */
export type Origins = ReadonlyMap<string, string>;

type Tree = Record<string, unknown>;

const originsOfConfig = new WeakMap<Config, Origins>();

/** Without entries if the configuration was not read from files and variables. */
export const originsOf = (config: Config): Origins => originsOfConfig.get(config) ?? new Map<string, string>();

/** @throws ConfigError listing everything that is wrong */
export function readConfig(source: ConfigSource): Config {
  return readConfigWithOrigins(source).config;
}

/** @throws ConfigError listing everything that is wrong */
export function readConfigWithOrigins(source: ConfigSource): { config: Config; origins: Origins } {
  const problems: ConfigProblem[] = [];
  const origins = new Map<string, string>();
  const variables = openVariables(source, problems);
  const file = parseFile(source.file ?? { path: 'signalbox.yaml', text: '' });
  problems.push(...file.problems);

  const expansion: Expansion = { variable: (name) => variables(name)?.text, problems, used: new Set() };
  const tree = expandTree(file, expansion);
  noteFileOrigins(file, tree, origins);
  applyEnvironment(tree, variables, origins);
  switchProvidersOn(tree, variables, { used: expansion.used, origins });
  readServers(tree);
  if (source.policyDraft !== undefined) tree['policy'] = { file: source.policyDraft };
  const policy = readPolicyFile(tree['policy'], source.readPolicyFile, problems);
  if (policy !== undefined) {
    Object.assign(tree, expandTree(policy, expansion));
    noteFileOrigins(policy, policy.tree, origins);
  }

  const originOf = (path: Path) => nearestOrigin(path, origins);
  refusePrototypes(
    tree,
    (path) => void problems.push({ ...unusableName, key: formatKey(path), origin: originOf(path) }),
  );
  const parsed = configSchema.safeParse(tree);
  // Report each key only once: after an earlier problem its value is meaningless.
  const reported = new Set(problems.map(({ key }) => key));
  if (!parsed.success)
    problems.push(...problemsOf(parsed.error, tree, originOf).filter(({ key }) => !reported.has(key)));
  else problems.push(...checkConfig(parsed.data, originOf));
  if (problems.length > 0 || !parsed.success) throw new ConfigError(problems);
  noteProviderSources(parsed.data.models.providers, { originOf, textOf: (path) => valueAt(file.tree, path) });
  const config = makeUnprintable(parsed.data);
  originsOfConfig.set(config, origins);
  return { config, origins };
}

const unusableName = { message: 'is a name that objects have themselves: choose another' };

/** The schemas would drop what has this name without a word. */
function refusePrototypes(value: unknown, problem: (path: Path) => void, path: Path = []): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    if (key === '__proto__') problem([...path, key]);
    else refusePrototypes(inner, problem, [...path, key]);
  }
}

/** A variable's text and its source. An empty variable counts as unset, because Compose passes unset ones as empty. */
type Variables = (name: string) => { text: string; origin: string } | undefined;

function openVariables(source: ConfigSource, problems: ConfigProblem[]): Variables {
  const known = new Map<string, ReturnType<Variables>>();
  const origin = (name: string) => `${source.fromEnvFile?.has(name) === true ? envFileName : 'environment'} ${name}`;
  const look: Variables = (name) => {
    const plain = source.environment[name];
    const fileName = `${name}_FILE`;
    const path = source.environment[fileName];
    const hasPlain = plain !== undefined && plain !== '';
    if (path === undefined || path === '' || source.readSecretFile === undefined) {
      return hasPlain ? { text: plain, origin: origin(name) } : undefined;
    }
    if (hasPlain) {
      problems.push({ key: name, message: `is set, and so is ${fileName}: unset one`, origin: 'environment' });
      return { text: plain, origin: origin(name) };
    }
    try {
      return { text: source.readSecretFile(path).trim(), origin: origin(fileName) };
    } catch (error) {
      const code = (error as { code?: string }).code ?? 'unreadable';
      problems.push({ key: fileName, message: `names a file that cannot be read: ${code}`, origin: 'environment' });
      return undefined;
    }
  };
  return (name) => {
    if (!known.has(name)) known.set(name, look(name));
    return known.get(name);
  };
}

function noteFileOrigins(file: ParsedFile, value: unknown, origins: Map<string, string>, path: Path = []): void {
  if (path.length > 0) origins.set(formatKey(path), file.origin(path));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
  for (const [key, inner] of Object.entries(value)) noteFileOrigins(file, inner, origins, [...path, key]);
}

function applyEnvironment(tree: Tree, variables: Variables, origins: Map<string, string>): void {
  for (const [name, setting] of environmentSettings) {
    const found = variables(name);
    if (found === undefined) continue;
    const value = valueOfText(found.text, setting.kind);
    const parent = objectAt(tree, setting.path.slice(0, -1));
    if (parent === undefined) continue;
    const last = setting.path.at(-1)!;
    const before = parent[last];
    if (setting.kind === 'map' && isTree(value) && isTree(before)) {
      parent[last] = { ...before, ...value };
      for (const key of Object.keys(value)) origins.set(formatKey([...setting.path, key]), found.origin);
    } else {
      parent[last] = value;
      origins.set(formatKey(setting.path), found.origin);
    }
  }
}

/** A variable enables its provider, unless the file already uses the variable under another name. */
function switchProvidersOn(
  tree: Tree,
  variables: Variables,
  notes: { used: ReadonlySet<string>; origins: Map<string, string> },
): void {
  const models = objectAt(tree, ['models']);
  if (models === undefined) return;
  const providers = models['providers'] === undefined ? {} : models['providers'];
  if (!isTree(providers)) return;
  for (const known of knownProviders) {
    const written = providers[known.name];
    const found = variables(known.variable);
    const wanted = found !== undefined && !notes.used.has(known.variable);
    if (written === undefined ? !wanted : !isTree(written)) continue;
    const entry: Tree = { ...known.members };
    const note = (member: string, origin: string) => {
      if (!isTree(written) || written[member] === undefined) {
        notes.origins.set(formatKey(['models', 'providers', known.name, member]), origin);
      }
    };
    if (found !== undefined) {
      entry[known.sets] = known.sets === 'base_url' ? withApiPath(found.text) : found.text;
      note(known.sets, found.origin);
    }
    const address = known.baseUrlVariable === undefined ? undefined : variables(known.baseUrlVariable);
    if (address !== undefined) {
      entry['base_url'] = address.text;
      note('base_url', address.origin);
    }
    // A provider in the file with the same name but another family is a different one.
    if (isTree(written) && written['kind'] !== undefined && written['kind'] !== known.members.kind) continue;
    providers[known.name] = { ...entry, ...(isTree(written) ? written : {}) };
  }
  models['providers'] = providers;
}

/** Accepts members that Claude Desktop and Cursor write, and adds the builtin server `workspace`. */
function readServers(tree: Tree): void {
  const servers = tree['mcpServers'] ?? {};
  if (!isTree(servers)) return;
  for (const server of Object.values(servers)) if (isTree(server)) adaptPastedServer(server);
  const entries = Object.entries(servers);
  const hasBuiltin = entries.some(([, server]) => isTree(server) && server['builtin'] === 'workspace');
  const own = servers['workspace'];
  const taken = isTree(own) && ['command', 'url', 'openapi'].some((way) => own[way] !== undefined);
  if (hasBuiltin || taken || (own !== undefined && !isTree(own))) return;
  const rest = Object.fromEntries(entries.filter(([name]) => name !== 'workspace'));
  tree['mcpServers'] = { workspace: { builtin: 'workspace', ...own }, ...rest };
}

function adaptPastedServer(server: Tree): void {
  if (typeof server['type'] === 'string') {
    const type = server['type'].toLowerCase();
    if (type === 'sse') server['transport'] ??= 'sse';
    if (/^(?:streamable-?)?http$/.test(type)) server['transport'] ??= 'http';
    if (/^(?:stdio|sse|(?:streamable-?)?http)$/.test(type)) delete server['type'];
  }
  if (typeof server['disabled'] === 'boolean') {
    server['enabled'] ??= !server['disabled'];
    delete server['disabled'];
  }
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object at a path, created if missing; undefined if the file has another value there. */
function objectAt(tree: Tree, path: readonly string[]): Tree | undefined {
  let here = tree;
  for (const key of path) {
    const next = here[key] ?? {};
    if (!isTree(next)) return undefined;
    here[key] = next;
    here = next;
  }
  return here;
}

function nearestOrigin(path: Path, origins: Origins): string | undefined {
  for (let length = path.length; length > 0; length -= 1) {
    const origin = origins.get(formatKey(path.slice(0, length)));
    if (origin !== undefined) return origin;
  }
  return undefined;
}
