// Compares the types of the client library with what the gateway documents, reads and sends, so that neither changes alone.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, test } from 'vitest';
import type { z } from 'zod';
import { errorTable } from '#libs/schemas/errors.js';
import type { ShownToolResult, ToolExecution, TurnEvent } from '#libs/schemas/turn-event.js';
import type { gatewayFields } from '../../apps/gateway/chat-apis/gateway-fields.js';
import type { chatRequestSchema } from '../../apps/gateway/openai-api/chat-request.schema.js';
import type * as client from '../../clients/typescript/src/index.js';
import { verifies } from '../verifies.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const source = `${root}clients/typescript/src`;

interface Schema {
  type?: string | string[];
  const?: string | boolean;
  enum?: string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: (Schema & { $ref?: string })[];
}
interface Content {
  schema: Schema;
}
type Operation = { responses: Record<string, { content: { 'application/json': Content } }> };
const documented = JSON.parse(readFileSync(`${root}docs/openapi.json`, 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};

const answerOf = (operation: string, status = '200'): Schema => {
  const [method, path] = operation.split(' ');
  return documented.paths[path!]![method!.toLowerCase()]!.responses[status]!.content['application/json'].schema;
};
const propertyOf = (schema: Schema, ...names: string[]): Schema =>
  names.reduce((inner, name) => (name === '[]' ? inner.items! : inner.properties![name]!), schema);

const { options } = ts.parseJsonConfigFileContent(
  ts.readConfigFile(`${root}clients/typescript/tsconfig.json`, ts.sys.readFile).config,
  ts.sys,
  `${root}clients/typescript`,
);
const program = ts.createProgram([`${source}/index.ts`], options);
const checker = program.getTypeChecker();
const exported = new Map(
  checker
    .getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(`${source}/index.ts`)!)!)
    .map((symbol) => [symbol.name, checker.getDeclaredTypeOfSymbol(resolved(symbol))]),
);
function resolved(symbol: ts.Symbol): ts.Symbol {
  return (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);
}
const typeOf = (name: string): ts.Type => {
  const type = exported.get(name);
  if (type === undefined) throw new Error(`the library exports no ${name}`);
  return type;
};

const partsOf = (type: ts.Type): ts.Type[] => (type.isUnion() ? type.types : [type]);
const literalsOf = (type: ts.Type) => partsOf(type).map((part) => checker.typeToString(part).replaceAll('"', ''));
const isA = (type: ts.Type, flags: number) => (type.flags & flags) !== 0;
const isNull = (type: ts.Type) => isA(type, ts.TypeFlags.Null);
const objects = ts.TypeFlags.Object | ts.TypeFlags.Intersection;
const kinds: Record<string, number> = {
  string: ts.TypeFlags.StringLike,
  number: ts.TypeFlags.NumberLike,
  integer: ts.TypeFlags.NumberLike,
  boolean: ts.TypeFlags.BooleanLike,
  object: objects,
  array: objects,
};

/** How a type of the library differs from a documented schema; types may be narrower where the document names no values. */
function differences(type: ts.Type, schema: Schema, at: string): string[] {
  if (schema.const !== undefined) return same(at, literalsOf(type), [String(schema.const)]);
  if (schema.enum !== undefined) return same(at, literalsOf(type), schema.enum);
  const [allowed, nullable] = [[schema.type ?? []].flat(), schema.type?.includes('null') === true];
  if (nullable !== partsOf(type).some(isNull)) return [`${at}: null is ${nullable ? '' : 'not '}possible`];
  const kind = allowed.find((each) => each !== 'null');
  const parts = partsOf(type).filter((part) => !isA(part, ts.TypeFlags.Null | ts.TypeFlags.Undefined));
  if (kind === undefined) return [];
  if (parts.some((part) => !isA(part, kinds[kind]!))) return [`${at}: ${checker.typeToString(type)} is no ${kind}`];
  if (schema.items !== undefined)
    return differences(checker.getTypeArguments(parts[0] as ts.TypeReference)[0]!, schema.items, `${at}[]`);
  if (schema.properties === undefined) return [];
  const members = checker.getPropertiesOfType(parts[0]!);
  return [
    ...same(
      at,
      members.map(({ name }) => name),
      Object.keys(schema.properties),
    ),
    ...members.flatMap((member) => {
      const inner = schema.properties![member.name];
      if (inner === undefined) return [];
      const optional = (member.flags & ts.SymbolFlags.Optional) !== 0;
      const needed = schema.required?.includes(member.name) === true;
      const path = `${at}.${member.name}`;
      return [
        ...(optional === needed ? [`${path}: is ${needed ? '' : 'not '}always there`] : []),
        ...differences(checker.getTypeOfSymbol(member), inner, path),
      ];
    }),
  ];
}

const same = (at: string, ours: readonly string[], theirs: readonly string[]): string[] =>
  [...new Set(ours)].sort().join() === [...new Set(theirs)].sort().join()
    ? []
    : [`${at}: ${[...ours].sort().join()} instead of ${[...theirs].sort().join()}`];

const answers: Record<string, Schema> = {
  Approval: answerOf('GET /api/approvals/{id}'),
  ChatCompletion: answerOf('POST /api/chat/completions'),
  EndedCall: answerOf('POST /api/tools/call'),
  FileEntry: propertyOf(answerOf('GET /api/sessions/{id}/files'), 'files', '[]'),
  FileList: answerOf('GET /api/sessions/{id}/files'),
  Model: propertyOf(answerOf('GET /v1/models'), 'data', '[]'),
  Run: answerOf('GET /api/runs/{id}'),
  Session: answerOf('GET /api/sessions/{id}'),
  Tool: propertyOf(answerOf('GET /api/tools'), 'data', '[]'),
  ToolExecution: propertyOf(answerOf('GET /api/runs/{id}'), 'tool_execution'),
  UploadedFile: answerOf('PUT /api/sessions/{id}/files/{path}', '201'),
};

for (const [name, schema] of Object.entries(answers)) {
  verifies('client.types', name, () => {
    // A list of causes, which the document leaves open.
    expect(differences(typeOf(name), schema, name).filter((each) => !/stopped_by/.test(each))).toEqual([]);
  });
}

verifies('client.types', 'events', () => {
  const schemas = documented.components.schemas['ChatEvent']!.anyOf!.filter(({ $ref }) => $ref === undefined);
  const events = new Map(
    partsOf(typeOf('GatewayEvent')).map((type) => [
      literalsOf(checker.getTypeOfSymbol(type.getProperty('type')!))[0]!,
      type,
    ]),
  );
  const names = schemas.map((schema) => String(schema.properties!['type']!.const));
  expect([...events.keys()].sort()).toEqual(names.toSorted());
  expect(schemas.flatMap((schema, at) => differences(events.get(names[at]!)!, schema, names[at]!))).toEqual([]);
});

verifies('client.types', 'error codes', () => {
  expect(literalsOf(typeOf('ErrorCode')).sort()).toEqual(Object.keys(errorTable).sort());
});

/** As a type alias, which may be assigned to a type with an index signature, unlike an interface. */
type Plain<T> = T extends object ? { [Key in keyof T]: Plain<T[Key]> } : T;
type None<T extends never> = T;
/** What the compiler checks: it fails where one side changes alone. */
export interface Checked {
  gatewayFields: None<Exclude<keyof typeof gatewayFields, keyof client.GatewayFields>>;
  noOtherGatewayFields: None<Exclude<keyof client.GatewayFields, keyof typeof gatewayFields>>;
  events: None<Exclude<Exclude<TurnEvent['type'], 'error'>, client.GatewayEvent['type']>>;
  stopCauses: None<Exclude<ToolExecution['stopped_by'], client.ToolExecution['stopped_by']>>;
  noOtherStopCauses: None<Exclude<client.ToolExecution['stopped_by'], ToolExecution['stopped_by']>>;
  results: None<Exclude<keyof ShownToolResult, keyof client.ToolResult>>;
  noOtherResults: None<Exclude<keyof client.ToolResult, keyof ShownToolResult>>;
}
export const accepted = (request: Plain<client.ChatRequest>): z.input<typeof chatRequestSchema> => request;

test('differences are found', () => {
  const session = answers['Session']!;
  const { usage, ...others } = session.properties!;
  expect(usage).toBeDefined();
  expect(differences(typeOf('Session'), { ...session, properties: others }, 'Session')).toHaveLength(1);
  expect(differences(typeOf('Session'), { ...session, required: [] }, 'Session')).toHaveLength(8);
  const numbered = { ...session, properties: { ...session.properties, id: { type: 'integer' } } };
  expect(differences(typeOf('Session'), numbered, 'Session')).toEqual(['Session.id: string is no integer']);
});

verifies('client.browser', 'its sources import nothing but each other and know no library but the browser’s', () => {
  const sources = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(source));
  expect(sources.length).toBeGreaterThan(8);
  const imported = sources.flatMap(({ text }) => Array.from(text.matchAll(/\bfrom '([^']+)'/g), ([, name]) => name!));
  expect(imported.filter((name) => !/^\.\/[a-z-]+\.js$/.test(name))).toEqual([]);
  expect(options).toMatchObject({ types: [], verbatimModuleSyntax: true });
  const manifest = JSON.parse(readFileSync(`${root}clients/typescript/package.json`, 'utf8')) as object;
  expect(Object.keys(manifest).filter((key) => /dependencies/i.test(key))).toEqual([
    'peerDependencies',
    'peerDependenciesMeta',
  ]);
  expect(manifest).toMatchObject({ peerDependenciesMeta: { openai: { optional: true } } });
  const types = ts.transpileModule(readFileSync(`${source}/openai.ts`, 'utf8'), {
    compilerOptions: { ...options, module: ts.ModuleKind.ESNext },
  });
  expect(types.outputText).toMatch(/^(\/\/.*\n)*export {};\n/);
});
