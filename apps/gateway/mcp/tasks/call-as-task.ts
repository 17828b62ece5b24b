// Makes a task of a tool call, and reads the result of one.
import type { CallToolResult } from '@modelcontextprotocol/server';
import { Bell } from '#libs/concurrency/bell.js';
import { isModern } from '#libs/mcp-server/endpoint/eras.js';
import { exchangeOf } from '#libs/mcp-server/endpoint/exchange.js';
import type { RunTask } from '#libs/runs/listing/run-tasks.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import type { TakeTurnEvents } from '../../turn/record.js';
import { failureOf } from '../../turn/dispatch/call-tool.js';
import { type AskingCall, relatedTo } from '../ask-client.js';
import { toCallResult, toFailure } from '../call-result.js';
import type { McpReport } from '../caller-of.js';
import type { ResourceLinks } from '../offers/resource-links.js';
import type { NewTask, TaskCalls } from './task-calls.js';
import { isOver, toLegacyTask, toModernTask } from './task-forms.js';
import type { TaskWish } from './task-wish.js';

export interface TaskPorts {
  tasks: TaskCalls;
  links: Pick<ResourceLinks, 'remember'>;
}

interface TaskCalling {
  asking: AskingCall;
  caller: RequestContext;
  report: McpReport;
}

/** The task; or the result, if the client leaves that to the gateway and the call was short. @throws AppError store_unavailable */
export async function callAsTask(
  ports: TaskPorts,
  call: Omit<NewTask, 'ttlMs'>,
  { asking: { server, request }, caller, report }: TaskCalling,
  { ttlMs, patienceMs }: TaskWish,
): Promise<CallToolResult> {
  const { tasks } = ports;
  const { name, argumentsText, sessionId } = call;
  // Before 2026-07-28 the session tells on.
  const toSession: typeof request.mcpReq.notify = ({ method, params }) =>
    server.notification({ method, params: { ...params, ...relatedTo(id) } });
  let isAnswered = false;
  const take: TakeTurnEvents = (batch) => {
    for (const { event } of batch) {
      if (event.type !== 'tool_progress') continue;
      if (!isAnswered) report(event);
      else if (!isModern(server)) report(event, toSession);
    }
    return undefined;
  };
  const { id, settled } = await tasks.begin({ name, argumentsText, sessionId, ttlMs }, caller, take);
  exchangeOf(request.http?.req).goesOn.push(settled);
  const news = new Bell();
  void settled.then(() => news.ring());
  if (patienceMs > 0) await news.heard(patienceMs, caller.signal);
  isAnswered = true;
  const task = await tasks.find(id, caller);
  if (caller.signal.aborted) {
    // Nobody knows the task.
    await tasks.cancel(task, caller);
    throw caller.signal.reason;
  }
  if (isModern(server)) {
    if (isOver(task)) return resultOf(ports, task, caller);
    return { resultType: 'task', ...toModernTask(task), content: [] };
  }
  void settled
    .then(async () => {
      const params = toLegacyTask(await tasks.find(id, caller));
      await server.notification({ method: 'notifications/tasks/status', params });
    })
    // A client that is not there any more asks when it comes back.
    .catch(() => undefined);
  return { task: toLegacyTask(task), content: [] };
}

/** What the call of a task that has ended would have been answered. @throws AppError */
export async function resultOf(ports: TaskPorts, task: RunTask, caller: RequestContext): Promise<CallToolResult> {
  const ended = await ports.tasks.outcome(task, caller);
  if (ended.refused) return toFailure(failureOf(ended, ended.outcome));
  const { principal } = caller;
  ports.links.remember({ principal, sessionId: ended.sessionId }, ended.server, ended.outcome);
  return toCallResult(ended);
}
