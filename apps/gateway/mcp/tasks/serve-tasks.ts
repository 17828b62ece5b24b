// Serves what MCP clients ask about tasks: their states, results and ends, in both eras. A client of 2025-11-25 is asked what a task
// waits for on the stream of its result, since 2026-07-28 by the task itself.
import {
  type CallToolResult,
  inputResponse,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { isModern } from '#libs/mcp-server/endpoint/eras.js';
import { toProtocolError } from '#libs/mcp-server/endpoint/rpc-error.js';
import { tasksExtension } from '#libs/mcp-server/tasks-extension.js';
import type { RunTask } from '#libs/runs/listing/run-tasks.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import type { Wait } from '#libs/waits/wait.js';
import { answer, type AnswerPorts } from '../answer-request.js';
import { type AskingCall, howToAsk, relatedTo, toAnswer } from '../ask-client.js';
import { askForApproval, decide, type WaitDecisions } from '../ask-for-approval.js';
import { callerOf } from '../caller-of.js';
import { formOf } from '../client-forms.js';
import { resultOf, type TaskPorts } from './call-as-task.js';
import { isOver, toInputRequests, toLegacyTask, toModernTask } from './task-forms.js';
import { declaresTasks } from './task-wish.js';

interface ServeTaskPorts extends TaskPorts, AnswerPorts {
  approvals: WaitDecisions;
}

const pageSize = 100;
const named = z.looseObject({ taskId: z.string() });
const listed = z.looseObject({ cursor: z.string().optional() });

export const taskCapabilities = {
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
  extensions: { [tasksExtension]: {} },
};

export function serveTasks(server: Server, ports: ServeTaskPorts): void {
  const { tasks } = ports;
  const serve = <Result>(request: ServerContext, work: (task: TaskRequest) => Promise<Result>): Promise<Result> => {
    requireTasks(server);
    const asking = { server, request };
    return answer(ports, request, () => work({ asking, caller: callerOf(asking).caller }));
  };
  server.setRequestHandler('tasks/get', { params: named }, ({ taskId }, request) =>
    serve(request, async (from) => {
      const task = await tasks.find(taskId, from.caller);
      if (isModern(server)) return detailed(ports, task, from);
      return toLegacyTask(task, await tasks.waits(task, from.caller));
    }),
  );
  server.setRequestHandler('tasks/cancel', { params: named }, ({ taskId }, request) =>
    serve(request, async ({ caller }) => {
      const task = await tasks.find(taskId, caller);
      if (isModern(server)) {
        if (!isOver(task)) await tasks.cancel(task, caller);
        return {};
      }
      if (isOver(task)) throw new AppError('invalid_value', 'This task has ended already', { param: 'taskId' });
      return toLegacyTask(await tasks.cancel(task, caller));
    }),
  );
  server.setRequestHandler('tasks/result', { params: named }, ({ taskId }, request) =>
    serve(request, (from) => result(ports, taskId, from)),
  );
  server.setRequestHandler('tasks/list', { params: listed }, ({ cursor }, request) =>
    serve(request, async ({ caller }) => {
      const found = await tasks.page(caller, pageSize + 1, cursor === undefined ? undefined : idOf(cursor));
      const shown = found.slice(0, pageSize);
      const nextCursor = found.length > pageSize ? { nextCursor: cursorOf(shown.at(-1)!) } : {};
      return { tasks: shown.map((task) => toLegacyTask(task)), ...nextCursor };
    }),
  );
  server.setRequestHandler('tasks/update', { params: named }, ({ taskId }, request) => {
    if (!isModern(server)) throw new ProtocolError(ProtocolErrorCode.MethodNotFound, 'Method not found');
    return serve(request, (from) => update(ports, taskId, from));
  });
}

type Answer = Record<string, unknown>;

interface TaskRequest {
  asking: AskingCall;
  caller: RequestContext;
}

/** @throws MissingRequiredClientCapabilityError */
function requireTasks(server: Server): void {
  if (!isModern(server) || declaresTasks(server)) return;
  throw new MissingRequiredClientCapabilityError({
    requiredCapabilities: { extensions: { [tasksExtension]: {} } },
  });
}

const isAskable = (wait: Wait, asking: AskingCall): boolean =>
  howToAsk(asking, 'url' in formOf(wait).question ? 'url' : 'form') !== undefined;

/** With its result, its error, or what it asks. */
async function detailed(ports: ServeTaskPorts, task: RunTask, { asking, caller }: TaskRequest): Promise<Answer> {
  if (!isOver(task)) {
    const asked = await ports.tasks.waits(task, caller);
    const askable = asked.filter((wait) => isAskable(wait, asking));
    const shown = toModernTask(task, asked, askable.length > 0);
    return shown.status === 'input_required' ? { ...shown, inputRequests: toInputRequests(askable) } : shown;
  }
  const shown = toModernTask(task);
  try {
    return shown.status === 'cancelled' ? shown : { ...shown, result: await resultOf(ports, task, caller) };
  } catch (error) {
    const { code, message, data } = toProtocolError(toAppError(error), caller.requestId);
    return { ...shown, status: 'failed', error: { code, message, data } };
  }
}

/** Asks the client, if it can be asked, for what the task waits for, each once; then, or meanwhile, the task ends. */
function result(ports: ServeTaskPorts, taskId: string, { asking, caller }: TaskRequest): Promise<CallToolResult> {
  const { tasks, approvals } = ports;
  const known = new Set<string>();
  return tasks.until(taskId, caller, async (task) => {
    if (isOver(task)) {
      const ended = await resultOf(ports, task, caller);
      return { ...ended, _meta: { ...ended._meta, ...relatedTo(taskId)._meta } };
    }
    for (const wait of await tasks.waits(task, caller)) {
      if (known.has(wait.id) || !isAskable(wait, asking)) continue;
      known.add(wait.id);
      await askForApproval(wait, approvals, { ...asking, taskId }, caller);
    }
    return undefined;
  });
}

/** Answers to what the task does not ask, or not any more, have no effect. */
async function update(ports: ServeTaskPorts, taskId: string, { asking, caller }: TaskRequest): Promise<Answer> {
  const { tasks, approvals } = ports;
  for (const wait of await tasks.waits(await tasks.find(taskId, caller), caller)) {
    const given = inputResponse(asking.request.mcpReq.inputResponses, wait.id);
    if (given.kind !== 'elicit') continue;
    const decision = formOf(wait).read(toAnswer(given));
    if (decision !== undefined && decision !== 'elsewhere') await decide(wait, decision, approvals, caller);
  }
  return {};
}

const cursorOf = ({ id }: RunTask): string => Buffer.from(id).toString('base64url');

/** @throws AppError invalid_value */
function idOf(cursor: string): string {
  const id = Buffer.from(cursor, 'base64url').toString();
  if (/^run_[\da-f]{32}$/.test(id)) return id;
  throw new AppError('invalid_value', 'This cursor is not valid: list from the start', { param: 'cursor' });
}
