// Whether a client wants a call as a task, and which tools can be called so. In 2025-11-25 the call says so, and is answered with its
// task at once; since 2026-07-28 a client that declares the extension leaves it to the gateway, which answers a short call as usual.
import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import { isModern } from '#libs/mcp-server/endpoint/eras.js';
import { tasksExtension } from '#libs/mcp-server/tasks-extension.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { realTool } from '../../tools/tool-of-call.js';
import type { AskingCall } from '../ask-client.js';

/** How long a call of 2026-07-28 may take before its task is the answer. */
const shortMs = 500;

export interface TaskParams {
  /** Only in 2025-11-25. */
  task?: { ttl?: number | undefined } | undefined;
}

export interface TaskWish {
  ttlMs: number | undefined;
  /** How long the result is waited for. */
  patienceMs: number;
}

export const declaresTasks = (server: Server): boolean =>
  server.getClientCapabilities()?.extensions?.[tasksExtension] !== undefined;

export function taskWish({ task }: TaskParams, { server, request }: AskingCall): TaskWish | undefined {
  if (!isModern(server)) return task && { ttlMs: task.ttl, patienceMs: 0 };
  // A client that comes back with an answer has been asked by a call that is no task.
  const comesBack = request.mcpReq.requestState() !== undefined;
  return declaresTasks(server) && !comesBack ? { ttlMs: undefined, patienceMs: shortMs } : undefined;
}

/** No other gateway has the headers of the caller, which such a tool needs. */
export const canBeTask = (tool: CatalogTool): boolean => realTool(tool).forwardHeaders === undefined;

/** Undefined: the call is made without a task. @throws ProtocolError for a client of 2025-11-25, which has been told so by the list */
export function wishFor(tool: CatalogTool, wish: TaskWish): TaskWish | undefined {
  if (canBeTask(tool)) return wish;
  if (wish.patienceMs > 0) return undefined;
  throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `'${tool.name}' cannot be called as a task`);
}
