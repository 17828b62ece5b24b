// `@McpServer` and `@McpTool` mark a class and its methods; nothing happens until a server is created from an instance.
// The marks are stored as metadata on the class, so the class stays an ordinary Nest provider.
import 'reflect-metadata';
import type { CallToolResult, InputRequiredResult } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ReadOnlyWhen, ToolAnnotations } from '#libs/schemas/tool-definition.js';
import type { ToolContext } from './tool-context.js';

/** Returning false, or throwing an AppError, refuses the call. */
export type Authorize = (toolName: string, context: ToolContext) => boolean | void | Promise<boolean | void>;

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

export interface DeclaredTool {
  name: string;
  method: string;
  options: McpToolOptions;
}

// A registered symbol, since a module of own tools brings its own copy of this file (docs/own-tools.md).
const serverKey = Symbol.for('signalbox:mcp-server');
const toolsKey = Symbol.for('signalbox:mcp-tools');

export function McpServer(options: McpServerOptions): ClassDecorator {
  return (target) => Reflect.defineMetadata(serverKey, options, target);
}

type ToolMethod<Input extends z.ZodObject> = (
  input: z.output<Input>,
  context: ToolContext,
) => ToolReturn | Promise<ToolReturn>;

export function McpTool<Input extends z.ZodObject>(options: McpToolOptions<Input>) {
  return <Method extends ToolMethod<Input>>(
    target: object,
    method: string,
    _descriptor: TypedPropertyDescriptor<Method>,
  ): void => {
    const declared: DeclaredTool = { name: options.name ?? method, method, options };
    const own = (Reflect.getOwnMetadata(toolsKey, target.constructor) as DeclaredTool[] | undefined) ?? [];
    Reflect.defineMetadata(toolsKey, [...own, declared], target.constructor);
  };
}

export function readServerOptions(type: unknown): McpServerOptions | undefined {
  if (typeof type !== 'function') return undefined;
  return Reflect.getOwnMetadata(serverKey, type) as McpServerOptions | undefined;
}

/** The tools of a class, inherited ones first; redeclaring one under its method's name replaces it. */
export function readDeclaredTools(type: unknown): DeclaredTool[] {
  if (typeof type !== 'function' || type === Function.prototype) return [];
  const inherited = readDeclaredTools(Object.getPrototypeOf(type));
  const own = (Reflect.getOwnMetadata(toolsKey, type) as DeclaredTool[] | undefined) ?? [];
  return [...inherited.filter((tool) => !own.some((later) => later.method === tool.method)), ...own];
}
