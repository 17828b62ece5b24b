// Creates a ToolServer from decorated instances. Refuses to start if two servers, tools or prompts share a name, or two resources a URI.
import type { DiscoveryService } from '@nestjs/core';
import { serveStdio, type StdioServerHandle } from '@modelcontextprotocol/server/stdio';
import {
  type Around,
  type Authorize,
  declaredPrompts,
  declaredResources,
  declaredTools,
  readServerOptions,
} from './decorators.js';
import type { PromptOffer } from './served/prompts.js';
import type { ResourceOffer } from './served/resources.js';
import type { ToolHandler } from './served-tool.js';
import { ToolServer, type ToolServerOptions } from './tool-server.js';

/**
 * Creates a server from instances whose classes carry `@McpServer` with the same name.
 * @throws Error if there is none, names differ, or two tools or prompts share a name, or two resources a URI (naming both places).
 */
export function createMcpServer(instances: object | readonly object[], options: ToolServerOptions): ToolServer {
  const targets = Array.isArray(instances) ? (instances as object[]) : [instances as object];
  const declared = targets.map((target) => {
    const found = readServerOptions(target.constructor);
    if (found === undefined) throw new Error(`${target.constructor.name} has no @McpServer decorator`);
    return found;
  });
  const first = declared[0];
  if (first === undefined) throw new Error('An MCP server needs at least one class');
  if (declared.some((server) => server.name !== first.name)) {
    throw new Error(`One MCP server of several names: ${declared.map((server) => server.name).join(', ')}`);
  }
  const authorizers = targets.flatMap((target, index) => authorizersOf(target, declared[index]!.authorize));
  const hooks = {
    authorize: authorizers.length === 0 ? undefined : joined(authorizers),
    around: nested(targets.flatMap(aroundOf)),
  };
  const server = new ToolServer(first, hooks, options);
  for (const target of targets) registerAll(server, target);
  options.logger.info({ metadata: { server: server.name, tools: server.toolNames() } }, 'mcp server ready');
  return server;
}

/**
 * All decorated providers of the application. Call it when providers exist.
 * @throws Error naming both places if two classes declare one server name.
 */
export function discoverMcpServers(discovery: DiscoveryService, options: ToolServerOptions): ToolServer[] {
  const places = new Map<string, string>();
  const servers: ToolServer[] = [];
  for (const { instance } of discovery.getProviders()) {
    if (typeof instance !== 'object' || instance === null) continue;
    const { constructor } = instance as object;
    const declared = readServerOptions(constructor);
    if (declared === undefined) continue;
    const place = constructor.name;
    const other = places.get(declared.name);
    if (other !== undefined) throw new Error(`Two MCP servers are named '${declared.name}': ${other} and ${place}`);
    places.set(declared.name, place);
    servers.push(createMcpServer(instance as object, options));
  }
  return servers;
}

/** Serves standard input and output, both protocol eras. The logger must not write to standard output. */
export function serveOverStdio(server: ToolServer): StdioServerHandle {
  return serveStdio(() => server.newConnection());
}

function registerAll(server: ToolServer, instance: object): void {
  const { constructor } = instance;
  const methods = instance as Record<string, unknown>;
  const placeOf = (method: string) => `${constructor.name}.${method}`;
  for (const { name, method, options } of declaredTools(constructor)) {
    const handler = methods[method] as ToolHandler;
    const call: ToolHandler = (input, context) => handler.call(instance, input, context);
    server.register({ name, place: placeOf(method), options, handler: call });
  }
  for (const { method, options } of declaredResources(constructor)) {
    const handler = methods[method] as ResourceOffer['read'];
    const read: ResourceOffer['read'] = (variables, context) => handler.call(instance, variables, context);
    server.registerResource({ options, method, place: placeOf(method), instance, read });
  }
  for (const { name, method, options } of declaredPrompts(constructor)) {
    const handler = methods[method] as PromptOffer['fill'];
    const fill: PromptOffer['fill'] = (values, context) => handler.call(instance, values, context);
    server.registerPrompt({ name, place: placeOf(method), options, instance, fill });
  }
}

function authorizersOf(target: object, fromDecorator: Authorize | undefined): Authorize[] {
  const found: Authorize[] = fromDecorator === undefined ? [] : [fromDecorator];
  const method = (target as { authorize?: unknown }).authorize;
  if (typeof method === 'function') {
    found.push((name, context, kind) => (method as Authorize).call(target, name, context, kind));
  }
  return found;
}

function aroundOf(target: object): Around[] {
  const method = (target as { around?: unknown }).around;
  return typeof method === 'function' ? [(call, run) => (method as Around).call(target, call, run)] : [];
}

/** Nests `arounds`, the first one outermost. */
function nested(arounds: readonly Around[]): Around {
  return arounds.reduceRight<Around>(
    (inner, outer) => (call, run) => outer(call, () => inner(call, run)),
    (_call, run) => run(),
  );
}

function joined(authorizers: readonly Authorize[]): Authorize {
  return async (name, context, kind) => {
    for (const authorize of authorizers) {
      if ((await authorize(name, context, kind)) === false) return false;
    }
    return true;
  };
}
