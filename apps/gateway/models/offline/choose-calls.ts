// Plans the next calls: those of the request's tasks that the history does not show as done. Never repeats a call, and
// makes at most `mostSteps` calls.
import type { JsonObject } from '#libs/schemas/json.js';
import { canonicalJson } from '#libs/json-schema/canonical-hash.js';
import type { ModelRequest } from '../model-provider.js';
import type { Conversation } from './conversation.js';
import { describeTool } from './describe-tool.js';
import { demandsMore, isComplete, TaskPlanner, type Lacking, type Task } from './plan-tasks.js';
import { resultText } from './read-result.js';
import { isGreeting, readClause, splitClauses } from './read-request.js';

export interface PlannedCall {
  name: string;
  arguments: JsonObject;
}

export interface Plan {
  calls: PlannedCall[];
  /** A tool that fits, but whose arguments are not all in the request. */
  lacking?: Lacking | undefined;
  /** Parts of the request that no call did or does. */
  undone: readonly string[];
  /** The rules are the reason, not a failed step or a limit. */
  cannot?: boolean;
}

const mostSteps = 8;
/** Only this many characters of the request are read. */
export const mostRead = 4000;

export function chooseCalls(conversation: Conversation, offered: ModelRequest, now: number): Plan {
  const { request, steps } = conversation;
  const { tools, toolChoice, parallelToolCalls = true } = offered;
  if (tools.length === 0 || toolChoice === 'none') return { calls: [], undone: partsLeft(conversation, now) };
  const named = typeof toolChoice === 'object' ? toolChoice.name : undefined;
  const isForced = toolChoice === 'required' || named !== undefined;
  const profiles = tools.filter((tool) => named === undefined || tool.name === named).map(describeTool);
  const planner = new TaskPlanner(request.slice(0, mostRead), profiles, now);
  const tasks = isGreeting(request) ? [] : planner.tasks();
  const { calls, left } = nextCalls(tasks, planner, conversation);
  if (calls.length === 0 && isForced && steps.length === 0) {
    const task = planner.forced();
    if (task !== undefined) calls.push({ name: task.profile.tool.name, arguments: task.filled.arguments });
  }
  return {
    calls: parallelToolCalls ? calls : calls.slice(0, 1),
    lacking: tasks.length === 0 ? planner.lacking : undefined,
    cannot: !steps.some(({ failed }) => failed),
    undone: [...new Set([...planner.undone, ...left])].sort(
      (one, other) => request.indexOf(one) - request.indexOf(other),
    ),
  };
}

/** Without tools, as at a limit of the turn: the parts that no step did, by its name. */
function partsLeft({ request, steps }: Conversation, now: number): string[] {
  const done = steps.map(({ name }) => ({ profile: describeTool({ name }) }));
  // A tool whose name says nothing may have done anything to its arguments.
  const unclear = steps.filter((_, at) => done[at]!.profile.name.actions.size === 0);
  const given = JSON.stringify(unclear.map((step) => step.arguments));
  const parts = steps.length === 0 ? [] : splitClauses(request.slice(0, mostRead), now);
  return parts.flatMap(({ text }) => {
    const { tokens, values } = readClause(text, now);
    const isGiven = [...values.paths, ...values.urls, ...values.quotes].some((value) => given.includes(value.text));
    return !isGiven && demandsMore(tokens, done) ? [text] : [];
  });
}

/** Compares the tasks with the steps done so far. Stops at a task that needs an earlier result. */
function nextCalls(
  tasks: readonly Task[],
  planner: TaskPlanner,
  { steps, request }: Conversation,
): { calls: PlannedCall[]; left: string[] } {
  const open = [...steps];
  const done = new Set(steps.map((step) => callKey(step.name, step.arguments)));
  const calls: PlannedCall[] = [];
  const left: string[] = [];
  let earlier: string | null | undefined;
  let hasFailed = false;
  for (const [place, task] of tasks.entries()) {
    const { profile } = task;
    const { name } = profile.tool;
    const given = task.filled.usesEarlier ? (earlier ?? null) : earlier;
    const callCount = profile.hasEffect ? 1 : Math.min(planner.filledFor(task, given).callCount, mostSteps);
    const results: string[] = [];
    for (let index = 0; index < callCount; index += 1) {
      const filled = planner.filledFor(task, given, index);
      const key = callKey(name, filled.arguments);
      const at = open.findIndex(
        (step) => step.name === name && (callCount === 1 || callKey(name, step.arguments) === key),
      );
      const step = at < 0 ? undefined : open.splice(at, 1)[0]!;
      if (step !== undefined) {
        hasFailed ||= step.failed;
        if (step.result !== undefined && !step.failed && !profile.hasEffect) results.push(resultText(step.result));
        continue;
      }
      if (filled.usesEarlier && hasFailed) {
        left.push(task.said);
        continue;
      }
      const waits = filled.usesEarlier && typeof given !== 'string';
      if (waits || (profile.hasEffect && calls.length > 0) || steps.length + calls.length >= mostSteps) {
        return { calls, left: [...left, ...tasks.slice(place).map(({ said }) => said)] };
      }
      // The text of a request that is longer than what is read would be written in part.
      const isCut = request.length > mostRead && profile.hasEffect && !filled.usesEarlier;
      if (done.has(key)) continue;
      if (isCut || !isComplete({ profile, filled })) {
        left.push(task.said);
        continue;
      }
      done.add(key);
      calls.push({ name, arguments: filled.arguments });
      if (profile.hasEffect) return { calls, left };
    }
    if (results.length > 0) earlier = results.join('\n\n');
    else if (calls.length > 0) earlier = null;
  }
  return { calls, left };
}

/** Equal for equal calls, whatever the order of the arguments. */
function callKey(name: string, args: JsonObject): string {
  return `${name} ${canonicalJson(args)}`;
}
