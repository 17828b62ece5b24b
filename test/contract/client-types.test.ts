// Compares the types of the client library with what the gateway documents, reads and sends, so that neither changes alone.
// `npm run typecheck` compares those of requests and events; those of answers are written by `npm run docs:generate`.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as prettier from 'prettier';
import ts from 'typescript';
import { expect } from 'vitest';
import type { z } from 'zod';
import type { ShownToolResult, ToolExecution, TurnEvent } from '#libs/schemas/turn-event.js';
import type { gatewayFields } from '../../apps/gateway/chat-apis/gateway-fields.js';
import type { chatEvent } from '../../apps/gateway/http/openapi/open-api-events.js';
import type { OpenApiDocument } from '../../apps/gateway/http/openapi/open-api-document.js';
import type { completion } from '../../apps/gateway/http/openapi/open-api-shapes.js';
import type { chatRequestSchema } from '../../apps/gateway/openai-api/chat-request.schema.js';
import type * as client from '../../clients/typescript/src/index.js';
import { printClientTypes } from '../../scripts/client-types.js';
import { verifies } from '../verifies.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const source = `${root}clients/typescript/src`;
const { options } = ts.parseJsonConfigFileContent(
  ts.readConfigFile(`${root}clients/typescript/tsconfig.json`, ts.sys.readFile).config,
  ts.sys,
  `${root}clients/typescript`,
);
const program = ts.createProgram([`${source}/index.ts`], options);

/** As a type alias, which may be assigned to a type with an index signature, unlike an interface. */
type Plain<T> = T extends client.JsonObject ? T : T extends object ? { [Key in keyof T]: Plain<T[Key]> } : T;
type None<T extends never> = T;
type Documented = Extract<z.input<typeof chatEvent>, { type: string }>;
type Named<Type extends string> = Extract<client.GatewayEvent, { type: Type }>;
type Missing<Event> = Event extends { type: infer Type extends string }
  ? Exclude<keyof Event, keyof Named<Type>>
  : never;
/** The typecheck fails where one side changes alone. */
export interface Checked {
  gatewayFields: None<Exclude<keyof typeof gatewayFields, keyof client.GatewayFields>>;
  noOtherGatewayFields: None<Exclude<keyof client.GatewayFields, keyof typeof gatewayFields>>;
  events: None<Exclude<Exclude<TurnEvent['type'], 'error'>, client.GatewayEvent['type']>>;
  documentedEvents: None<Exclude<Documented['type'], client.GatewayEvent['type']>>;
  members: None<Missing<Documented>>;
  stopCauses: None<Exclude<ToolExecution['stopped_by'], client.ToolExecution['stopped_by']>>;
  noOtherStopCauses: None<Exclude<client.ToolExecution['stopped_by'], ToolExecution['stopped_by']>>;
  results: None<Exclude<keyof ShownToolResult, keyof client.ToolResult>>;
  noOtherResults: None<Exclude<keyof client.ToolResult, keyof ShownToolResult>>;
}
export const accepted = (request: Plain<client.ChatRequest>): z.input<typeof chatRequestSchema> => request;
export const documentedEvent = (event: Plain<client.GatewayEvent>): z.input<typeof chatEvent> => event;
export const documentedAnswer = (answer: Plain<client.ChatCompletion>): z.input<typeof completion> => answer;

verifies('client.types', 'the types of answers are written from docs/openapi.json', async () => {
  const { components } = JSON.parse(readFileSync(`${root}docs/openapi.json`, 'utf8')) as OpenApiDocument;
  const format = { ...(await prettier.resolveConfig(`${root}package.json`)), filepath: 'answers.ts' };
  const written = await prettier.format(printClientTypes(components.schemas), format);
  expect(readFileSync(`${source}/answers.ts`, 'utf8')).toBe(written);
});

verifies('client.browser', 'its sources import nothing but each other and know no library but the browser’s', () => {
  const sources = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(source));
  expect(sources.length).toBeGreaterThan(8);
  const imported = sources.flatMap(({ text }) => Array.from(text.matchAll(/\bfrom '([^']+)'/g), ([, name]) => name!));
  expect(imported.filter((name) => !/^\.\.?\/(?:servers\/)?[a-z-]+\.js$/.test(name))).toEqual([]);
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
