// `@McpServer` marks a class, `@McpTool`, `@McpResource` and `@McpPrompt` its methods; nothing happens until a server is created
// from an instance. The marks are stored as metadata on the class, so the class stays an ordinary Nest provider.
import 'reflect-metadata';
import type {
  Annotations,
  CallToolResult,
  GetPromptResult,
  InputRequiredResult,
  PromptMessage,
  ReadResourceResult,
  Resource,
} from '@modelcontextprotocol/server';
import type { z } from 'zod';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ReadOnlyWhen, ToolAnnotations } from '#libs/schemas/tool-definition.js';
import type { ToolContext } from './tool-context.js';

/** What a client asks a server for, besides lists. */
export type ServedKind = 'tool' | 'resource' | 'prompt';

/**
 * Returning false, or throwing an AppError, refuses the request. `name`: of the tool or the prompt, or the URI of the resource; a
 * completion has the name or URI template of what it completes.
 */
export type Authorize = (
  name: string,
  context: ToolContext,
  kind: ServedKind,
) => boolean | void | Promise<boolean | void>;

/** A call before its arguments are checked. */
export interface CallInProgress {
  tool: string;
  arguments: unknown;
  context: ToolContext;
}

/** The end of a call: its result, or a question to the client, after which the call runs again. */
export type ServedResult = CallToolResult | InputRequiredResult;

/** Runs a call and returns what the caller gets; `run` rejects with the tool's error, or the reason of an abort. */
export type Around = (call: CallInProgress, run: () => Promise<ServedResult>) => Promise<ServedResult>;

export interface McpServerOptions {
  name: string;
  version?: string;
  /** What clients tell their models about the server. */
  instructions?: string;
  /** In the worker, calls of the server get a `callToken`, to ask models of the gateway as their caller. */
  actsForCaller?: boolean;
  /** Runs before every handler. A method `authorize` of the class does the same. */
  authorize?: Authorize;
}

export interface McpToolOptions<Input extends z.ZodObject = z.ZodObject> {
  description: string;
  input: Input;
  /** The schema of results, which is checked and published. */
  output?: z.ZodObject;
  annotations?: ToolAnnotations;
  /** Default: the method's name. */
  name?: string;
  title?: string;
  /** Published unchanged: `{version, category, tags}` and the like. */
  metadata?: JsonObject;
  timeoutMs?: number;
  /** Which calls of a tool that may change something are read-only. Applies to servers in the worker's own process. */
  readOnlyWhen?: ReadOnlyWhen;
  /** Read-only calls do not depend on the session: a cached result serves all sessions of the caller. */
  sessionless?: boolean;
  /** The argument that names the file which a result depends on: a cached result is used while that file is unchanged. */
  readsFile?: string;
}

/** A string, an object (becomes structured content), a whole MCP result, or `inputRequired(…)`, which asks the client. */
export type ToolReturn = string | object | CallToolResult;

/** Values for an argument that begin with, or resemble, what has been typed: a list, or a function of it. */
export type Completer =
  | readonly string[]
  | ((
      this: never,
      typed: string,
      /** The arguments that have values already. */
      given: Readonly<Record<string, string>>,
      context: ToolContext,
    ) => readonly string[] | Promise<readonly string[]>);

/** A resource that is listed for a template. */
export type ListedResource = Pick<Resource, 'uri'> & Partial<Resource>;

export interface McpResourceOptions {
  /** `notes://readme`, or a template of RFC 6570 such as `notes://{year}/{name}`. */
  uri: string;
  /** Default: the method's name. */
  name?: string;
  title?: string;
  description?: string;
  /** Default: `text/plain` for text, `application/json` for other objects, `application/octet-stream` for bytes. */
  mimeType?: string;
  /** In bytes, if it is known. */
  size?: number;
  annotations?: Annotations;
  /** Resources of the template that are listed. `this` is the instance. */
  list?: (this: never, context: ToolContext) => readonly ListedResource[] | Promise<readonly ListedResource[]>;
  /** For variables of the template. `this` of functions is the instance. */
  complete?: Readonly<Record<string, Completer>>;
}

/**
 * Text, bytes, an object (becomes JSON), whole `contents`, or `inputRequired(…)`. Undefined: there is no such resource.
 */
export type ResourceReturn = string | Uint8Array | object | ReadResourceResult | undefined;

export interface McpPromptOptions<Arguments extends z.ZodObject = z.ZodObject> {
  description: string;
  /** Clients send texts: `z.coerce.number()` reads a number. */
  arguments?: Arguments;
  /** Default: the method's name. */
  name?: string;
  title?: string;
  /** For arguments; those with a `z.enum` complete themselves. `this` of functions is the instance. */
  complete?: Readonly<Record<string, Completer>>;
}

/** A text of the user, messages, a whole MCP result, or `inputRequired(…)`, which asks the client. */
export type PromptReturn = string | readonly PromptMessage[] | GetPromptResult | InputRequiredResult;

export interface Declared<Options> {
  /** The tool's or prompt's name, or the resource's URI. */
  name: string;
  method: string;
  options: Options;
}

// Registered symbols, since a module of own tools brings its own copy of this file (docs/own-tools.md).
const serverKey = Symbol.for('signalbox:mcp-server');
const toolsKey = Symbol.for('signalbox:mcp-tools');
const resourcesKey = Symbol.for('signalbox:mcp-resources');
const promptsKey = Symbol.for('signalbox:mcp-prompts');

export function McpServer(options: McpServerOptions): ClassDecorator {
  return (target) => Reflect.defineMetadata(serverKey, options, target);
}

type Handler<Input, Return> = (input: Input, context: ToolContext) => Return | Promise<Return>;
type Marks<Input, Return> = <Method extends Handler<Input, Return>>(
  target: object,
  method: string,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

export function McpTool<Input extends z.ZodObject>(options: McpToolOptions<Input>): Marks<z.output<Input>, ToolReturn> {
  return (target, method) => declare(toolsKey, target, { name: options.name ?? method, method, options });
}

/** The method gets the variables of the template, decoded; they are as safe as any input. */
export function McpResource(options: McpResourceOptions): Marks<Record<string, string>, ResourceReturn> {
  return (target, method) => declare(resourcesKey, target, { name: options.uri, method, options });
}

export function McpPrompt<Arguments extends z.ZodObject>(
  options: McpPromptOptions<Arguments>,
): Marks<z.output<Arguments>, PromptReturn> {
  return (target, method) => declare(promptsKey, target, { name: options.name ?? method, method, options });
}

export function readServerOptions(type: unknown): McpServerOptions | undefined {
  if (typeof type !== 'function') return undefined;
  return Reflect.getOwnMetadata(serverKey, type) as McpServerOptions | undefined;
}

export const declaredTools = (type: unknown) => readDeclared<McpToolOptions>(type, toolsKey);
export const declaredResources = (type: unknown) => readDeclared<McpResourceOptions>(type, resourcesKey);
export const declaredPrompts = (type: unknown) => readDeclared<McpPromptOptions>(type, promptsKey);

function declare(key: symbol, { constructor }: object, declared: Declared<object>): void {
  const own = (Reflect.getOwnMetadata(key, constructor) as Declared<object>[] | undefined) ?? [];
  Reflect.defineMetadata(key, [...own, declared], constructor);
}

/** The marks of a class, inherited ones first; marking a method again under its name replaces the earlier mark. */
function readDeclared<Options>(type: unknown, key: symbol): Declared<Options>[] {
  if (typeof type !== 'function' || type === Function.prototype) return [];
  const inherited = readDeclared<Options>(Object.getPrototypeOf(type), key);
  const own = (Reflect.getOwnMetadata(key, type) as Declared<Options>[] | undefined) ?? [];
  return [...inherited.filter((mark) => !own.some((later) => later.method === mark.method)), ...own];
}
