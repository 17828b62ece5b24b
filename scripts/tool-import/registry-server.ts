// A `server.json` of the MCP registry as an entry. Of several ways to run it the first that can work here is taken: a package of
// npm, an address, a package of PyPI. Values are taken literally: nothing in them refers to variables of this machine.
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import { checkedText, NotImportable, shown, validName, variableFor, variableForm } from './imported-server.js';
import type { ImportedEntry, ImportedServer } from './imported-server.js';

const objects = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);
const textOf = (value: unknown, what: string): string => (value === undefined ? '' : checkedText(value, what));

/** @throws NotImportable */
export function readRegistryServer(file: JsonObject, as?: string): ImportedServer {
  const name = validName(as ?? textOf(file['name'], 'name'));
  const ways = waysOf(file);
  const [way] = ways;
  if (way === undefined) {
    const kinds = objects(file['packages']).map((each) => instead(each));
    throw new NotImportable(kinds.length === 0 ? 'it has neither packages nor remotes' : kinds.join('; '));
  }
  const server: ImportedServer = { name, entry: {}, moved: new Map(), needed: new Map(), notes: [] };
  const { description } = file;
  if (typeof description === 'string') server.notes.push(`it says: ${shown(description)}`);
  server.entry = way.entry(new Inputs(server));
  for (const other of ways.slice(1)) server.notes.push(`it could also be added as ${other.what}`);
  return server;
}

interface Way {
  what: string;
  entry(inputs: Inputs): ImportedEntry;
}

function waysOf(file: JsonObject): Way[] {
  const packages = objects(file['packages']).filter(
    ({ transport }) => !isJsonObject(transport) || transport['type'] === undefined || transport['type'] === 'stdio',
  );
  const ofType = (type: string) => packages.filter((each) => typeOf(each) === type);
  return [
    ...ofType('npm').map((each) => packageWay(each, 'npx')),
    ...objects(file['remotes']).map(remoteWay),
    ...ofType('pypi').map((each) => packageWay(each, 'uvx')),
  ];
}

/** `registry_type` and `registry_name` are of older versions of the format. */
const typeOf = (each: JsonObject): unknown =>
  each['registryType'] ?? each['registry_type'] ?? each['registry_name'] ?? '';

const nameForm = { npx: /^(?:@[\w.-]+\/)?[\w][\w.-]*$/, uvx: /^[\w][\w.-]*$/ };

function packageWay(each: JsonObject, command: 'npx' | 'uvx'): Way {
  const identifier = textOf(each['identifier'] ?? each['name'], 'identifier');
  const version = textOf(each['version'], 'version');
  const what = `${command === 'npx' ? 'npm' : 'PyPI'} package ${shown(identifier)}`;
  return {
    what,
    entry(inputs) {
      if (!nameForm[command].test(identifier)) throw new NotImportable(`${what}: that is not the name of a package`);
      if (!/^[\w.+-]*$/.test(version)) throw new NotImportable(`${what}: ${shown(version)} is not a version`);
      const before = inputs.words(each['runtimeArguments']).filter((word) => word !== '-y' && word !== '--yes');
      const spec = version === '' ? identifier : `${identifier}@${version}`;
      const after = inputs.words(each['packageArguments']);
      const env = inputs.values(each['environmentVariables'], 'environment variable');
      for (const key of Object.keys(env)) {
        if (!variableForm.test(key) || key === '__proto__')
          throw new NotImportable(`${shown(key)} is not the name of an environment variable`);
      }
      const args = [...(command === 'npx' ? ['-y'] : []), ...before, spec, ...after];
      return { command, args, ...(Object.keys(env).length > 0 && { env }) };
    },
  };
}

function remoteWay(each: JsonObject): Way {
  const type = textOf(each['type'] ?? each['transport_type'], 'type of a remote');
  const template = textOf(each['url'], 'url');
  return {
    what: `address ${shown(template)}`,
    entry(inputs) {
      const transport = { 'streamable-http': 'http', http: 'http', sse: 'sse' }[type];
      if (transport !== 'http' && transport !== 'sse')
        throw new NotImportable(`${shown(type)} is not a transport of addresses`);
      const url = inputs.filled(template, each['variables']);
      const headers = inputs.values(each['headers'], 'header');
      return { url, transport, ...(Object.keys(headers).length > 0 && { headers }) };
    },
  };
}

/** What to do with what cannot run here. */
function instead(each: JsonObject): string {
  const identifier = shown(textOf(each['identifier'], 'identifier'));
  const { transport } = each;
  if (isJsonObject(transport) && transport['type'] !== 'stdio')
    return `${identifier} listens at an address of its own: start it yourself and add its url`;
  switch (typeOf(each)) {
    case 'oci':
      return `${identifier} is a container image, which no tool server can start: run it yourself and add its url`;
    case 'nuget':
      return `${identifier} is a NuGet package: install it with \`dotnet tool install\` and add its program as command`;
    case 'mcpb':
      return `${identifier} is a bundle: unpack it and add the command of its manifest.json`;
    default:
      return `${identifier} is a package of a kind that is not known`;
  }
}

/** Reads the inputs of the format: a value, a default, or a variable that somebody has to set. */
class Inputs {
  constructor(private readonly server: ImportedServer) {}

  /** Arguments, in their order. Optional ones without a value are left out. */
  words(list: unknown): string[] {
    return objects(list).flatMap((each) => {
      const label = textOf(each['name'] ?? each['valueHint'] ?? each['value_hint'], 'name of an argument');
      const isNamed = each['type'] === 'named';
      if (isNamed && !/^-{0,2}[\w][\w.:-]*$/.test(label)) throw new NotImportable(`${shown(label)} is not an option`);
      const value = this.valueOf(each, label === '' ? 'argument' : label);
      if (isNamed && value === undefined && each['isRequired'] === true) return [label];
      return value === undefined ? [] : isNamed && value !== '' ? [label, value] : isNamed ? [label] : [value];
    });
  }

  /** Environment variables or headers. */
  values(list: unknown, what: string): Record<string, string> {
    const found = new Map<string, string>();
    for (const each of objects(list)) {
      const name = textOf(each['name'], `name of an ${what}`);
      const value = this.valueOf(each, name);
      if (value !== undefined) found.set(name, value);
      else this.server.notes.push(`left out, because it is optional: ${shown(name)}`);
    }
    return Object.fromEntries(found);
  }

  filled(template: string, variables: unknown): string {
    const known = isJsonObject(variables) ? variables : {};
    // What a text of the file has like a reference of ours means itself.
    return template
      .replaceAll('${', () => '$${')
      .replaceAll(/(?<!\$)\{([^{}]+)\}/g, (whole, key: string) => {
        const input = Object.hasOwn(known, key) ? known[key] : undefined;
        if (!isJsonObject(input)) return whole;
        // A variable has no variables of its own.
        const own = { ...input, isRequired: true, variables: null };
        return this.valueOf(own, key) ?? '';
      });
  }

  private valueOf(each: JsonObject, label: string): string | undefined {
    const { moved, needed, name } = this.server;
    const given = each['value'] ?? each['default'];
    const isSecret = each['isSecret'] === true || each['is_secret'] === true;
    if (given !== undefined && given !== null) {
      const text = this.filled(checkedText(given, label), each['variables']);
      if (!isSecret || text.includes('${')) return text;
      const variable = variableFor(name, label);
      moved.set(variable, text);
      return `\${${variable}}`;
    }
    if (each['isRequired'] !== true && each['is_required'] !== true) return undefined;
    const variable = variableFor(name, label);
    const choices = Array.isArray(each['choices'])
      ? `one of ${shown(each['choices'].map((choice) => JSON.stringify(choice)).join(', '))}`
      : '';
    const said = typeof each['description'] === 'string' ? shown(each['description']) : '';
    needed.set(variable, [said, choices].filter(Boolean).join('; '));
    return `\${${variable}}`;
  }
}
