// Decides what to call next: cuts the request into tasks, finds each its tool, sees in the history which were done, and
// names the calls that can be made now. Pure and bounded: never the same call twice, never more than MAX_STEPS.
import type { JsonObject } from '#libs/schemas/json.js';
import type { ToolChoice, ToolDefinition } from '#libs/schemas/tool-definition.js';
import { satisfies } from './check-arguments.js';
import { describeTool, type ToolProfile } from './describe-tool.js';
import { fillArguments, type Filled } from './fill-arguments.js';
import { readClause, type Clause } from './read-clause.js';
import { canonical, type Conversation, type Step } from './read-conversation.js';
import { resultText } from './read-result.js';
import { hasEffect, isGreeting, meaningOf, MOST_EVIDENCE, scoreTool, THRESHOLD } from './score-tools.js';
import { splitClauses } from './split-clauses.js';
import { readWords } from './words.js';

export interface PlannedCall {
  name: string;
  arguments: JsonObject;
}

export interface Plan {
  calls: PlannedCall[];
  /** A tool that fits but for what the request does not say. */
  lacking?: { name: string; missing: string[] };
}

export interface PlanOptions {
  tools: readonly ToolDefinition[];
  toolChoice?: ToolChoice | undefined;
  parallel: boolean;
  now: number;
}

const MAX_STEPS = 8;
/** A longer request is read no further: what is to be done stands at its beginning. */
const MAX_REQUEST = 4_000;

interface Task {
  profile: ToolProfile;
  clause: Clause;
  /** The clause with what followed it, for what the clause alone leaves open. */
  wider?: Clause;
  filled: Filled;
  score: number;
}

export function planNext(conversation: Conversation, options: PlanOptions): Plan {
  const { tools, toolChoice } = options;
  if (tools.length === 0 || toolChoice === 'none' || conversation.steps.length >= MAX_STEPS) return { calls: [] };
  const named = typeof toolChoice === 'object' ? toolChoice.name : undefined;
  const offered = tools.filter((tool) => named === undefined || tool.name === named).map(describeTool);
  const isForced = toolChoice === 'required' || named !== undefined;
  const planner = new Planner(conversation, offered, options, isForced);
  return planner.plan(named !== undefined);
}

class Planner {
  private lacking: { name: string; missing: string[]; score: number } | undefined;
  private readonly request: string;

  constructor(
    private readonly conversation: Conversation,
    private readonly profiles: ToolProfile[],
    private readonly options: PlanOptions,
    private readonly isForced: boolean,
  ) {
    this.request = conversation.request.slice(0, MAX_REQUEST);
  }

  plan(isNamed: boolean): Plan {
    const tasks = isGreeting(this.request) && !this.isForced ? [] : this.tasks(isNamed);
    const calls = this.nextCalls(tasks);
    if (calls.length > 0) return { calls };
    if (this.isForced && (tasks.length === 0 || this.conversation.steps.length === 0)) {
      const forced = this.forcedCall();
      if (forced !== undefined) return { calls: [forced] };
    }
    if (tasks.length > 0 || this.lacking === undefined) return { calls: [] };
    return { calls: [], lacking: { name: this.lacking.name, missing: this.lacking.missing } };
  }

  private tasks(isNamed: boolean): Task[] {
    const tasks: Task[] = [];
    let carried = '';
    const least = isNamed ? -Infinity : THRESHOLD;
    for (const part of splitClauses(this.request)) {
      const text = carried === '' ? part : `${carried}，${part}`;
      const previous = tasks.at(-1);
      const task =
        this.best(text, tasks.length > 0, least) ??
        this.best(carried === '' ? withReferent(part, previous) : part, tasks.length > 0, least);
      if (previous !== undefined && (task === undefined || isSameQuestion(previous, task))) {
        previous.wider = readClause(`${previous.wider?.text ?? previous.clause.text}，${part}`);
        continue;
      }
      if (task === undefined) {
        carried = text;
        continue;
      }
      carried = '';
      const source = this.sourceOf(task, tasks.length > 0);
      if (source !== undefined) tasks.push(source);
      tasks.push(task);
    }
    if (tasks.length > 0) return tasks.slice(0, MAX_STEPS);
    const whole = this.best(this.request, false, least);
    return whole === undefined ? [] : [...[this.sourceOf(whole, false)].filter((task) => task !== undefined), whole];
  }

  private best(text: string, follows: boolean, least: number): Task | undefined {
    const clause = readClause(text);
    const candidates: Task[] = [];
    let mostLacking = 0;
    for (const profile of this.profiles) {
      if (meaningOf(profile, clause) + MOST_EVIDENCE < least) continue;
      const filled = this.fillFor({ profile, clause }, follows ? null : undefined, 0);
      const score = scoreTool(profile, clause, filled);
      if (score < least) continue;
      const task = { profile, clause, filled, score };
      if (this.isComplete(task)) {
        candidates.push(task);
        continue;
      }
      mostLacking = Math.max(mostLacking, score);
      if (score > (this.lacking?.score ?? THRESHOLD - 1)) {
        this.lacking = { name: profile.tool.name, missing: filled.missing, score };
      }
    }
    candidates.sort((left, right) => right.score - left.score);
    const best = candidates.slice(0, 4).find(({ profile, filled }) => {
      return filled.missing.length > 0 || filled.usesEarlier || satisfies(profile.schema, filled.arguments);
    });
    // One that suits far better and lacks something waits for what the request says next.
    return best !== undefined && best.score + 1 < mostLacking ? undefined : best;
  }

  /** Everything is there, or only the text is missing and a step before can bring it. */
  private isComplete(task: Task): boolean {
    if (task.filled.missing.length === 0) return true;
    if (task.filled.missing.length > 1) return false;
    if (task.filled.usesEarlier) return true;
    return this.sourceOf(task, false) !== undefined;
  }

  /** “Save <address> to <file>” and “summarize <file>”: the text comes from something that must be read first. */
  private sourceOf(task: Task, follows: boolean): Task | undefined {
    if (task.filled.missing.length !== 1 || (follows && task.filled.usesEarlier)) return undefined;
    const used = new Set(Object.values(task.filled.arguments));
    const source = [...task.clause.entities.urls, ...task.clause.entities.paths].find((item) => !used.has(item.text));
    if (source === undefined) return undefined;
    const trial = this.fillFor(task, null, 0);
    if (!trial.usesEarlier) return undefined;
    const verb = task.clause.entities.urls.includes(source) ? 'fetch' : 'read';
    const clause = readClause(`${verb} ${source.text}`);
    const candidates = this.profiles
      .filter((profile) => profile !== task.profile && !hasEffect(profile))
      .map((profile) => ({ profile, filled: this.fillFor({ profile, clause }, undefined, 0) }))
      .map((one) => ({ ...one, clause, score: scoreTool(one.profile, clause, one.filled) }))
      .filter(
        (one) =>
          one.score >= THRESHOLD &&
          one.filled.missing.length === 0 &&
          satisfies(one.profile.schema, one.filled.arguments),
      );
    const best = candidates.sort((left, right) => right.score - left.score)[0];
    if (best !== undefined) task.filled = { ...task.filled, usesEarlier: true };
    return best;
  }

  private fillFor(
    task: Pick<Task, 'profile' | 'clause' | 'wider'>,
    earlier: string | null | undefined,
    turn: number,
    force = false,
  ): Filled {
    const context = { request: this.request, profile: task.profile, earlier, turn, force, now: this.options.now };
    const filled = fillArguments({ ...context, clause: task.clause });
    if (task.wider === undefined) return filled;
    const wider = fillArguments({ ...context, clause: task.wider });
    if (wider.turns > filled.turns) return wider;
    const missing = filled.missing.filter((name) => wider.missing.includes(name));
    return { ...filled, arguments: joinArguments(filled.arguments, wider.arguments), missing };
  }

  private nextCalls(tasks: Task[]): PlannedCall[] {
    const open = [...this.conversation.steps];
    const done = new Set(open.map((step) => callKey(step.name, step.arguments)));
    const calls: PlannedCall[] = [];
    let earlier: string | null | undefined;
    let isBlocked = false;
    for (const task of tasks) {
      const needs = task.filled.usesEarlier;
      const given = needs ? (earlier ?? null) : earlier;
      const { turns } = this.fillFor(task, given, 0);
      const many = turns > 1 && !hasEffect(task.profile) ? Math.min(turns, MAX_STEPS) : 1;
      const results: string[] = [];
      for (let turn = 0; turn < many; turn += 1) {
        const filled = this.fillFor(task, given, turn);
        const step = take(open, task.profile.tool.name, many > 1 ? filled.arguments : undefined);
        if (step !== undefined) {
          if (step.result !== undefined && !step.failed && !hasEffect(task.profile))
            results.push(resultText(step.result));
          isBlocked ||= step.failed;
          continue;
        }
        if (filled.usesEarlier && (typeof given !== 'string' || isBlocked)) {
          if (calls.length > 0 || !isBlocked) return this.bounded(calls);
          continue;
        }
        if (filled.missing.length > 0 || !satisfies(task.profile.schema, filled.arguments)) continue;
        // What was cut off must not be written as if it were the whole.
        if (this.conversation.request.length > MAX_REQUEST && hasEffect(task.profile) && !filled.usesEarlier) continue;
        const key = callKey(task.profile.tool.name, filled.arguments);
        if (done.has(key)) continue;
        if (calls.length > 0 && hasEffect(task.profile)) return this.bounded(calls);
        done.add(key);
        calls.push({ name: task.profile.tool.name, arguments: filled.arguments });
        if (hasEffect(task.profile)) return this.bounded(calls);
      }
      if (results.length > 0) earlier = results.join('\n\n');
      else if (calls.length > 0 && !hasEffect(task.profile)) earlier = null;
    }
    return this.bounded(calls);
  }

  private bounded(calls: PlannedCall[]): PlannedCall[] {
    return calls.slice(0, this.options.parallel ? Math.max(0, MAX_STEPS - this.conversation.steps.length) : 1);
  }

  private forcedCall(): PlannedCall | undefined {
    const clause = readClause(this.request);
    const done = new Set(this.conversation.steps.map((step) => callKey(step.name, step.arguments)));
    return this.profiles
      .map((profile) => ({ profile, filled: this.fillFor({ profile, clause }, undefined, 0, true) }))
      .map((one) => ({
        ...one,
        score:
          scoreTool(one.profile, clause, one.filled) - 2 * one.filled.missing.length - (hasEffect(one.profile) ? 1 : 0),
      }))
      .sort((left, right) => right.score - left.score)
      .map(({ profile, filled }) => ({ call: { name: profile.tool.name, arguments: filled.arguments }, profile }))
      .find(
        ({ call, profile }) =>
          satisfies(profile.schema, call.arguments) && !done.has(callKey(call.name, call.arguments)),
      )?.call;
  }
}

/** “Delete it”, 删除它: the file or address that the clause before was about. */
function withReferent(part: string, previous: Task | undefined): string {
  if (previous === undefined) return part;
  const { paths, urls } = previous.clause.entities;
  const refers = /\b(?:it|this file|that file)\b|它|该文件|这个文件/i.test(part);
  // Chinese leaves the object out: 读出来, 打开看看.
  const leavesOut = /^\p{Script=Han}{1,6}$/u.test(part.trim()) && readWords(part).actions.size > 0;
  const referent = refers ? [...paths, ...urls][0] : leavesOut ? paths[0] : undefined;
  return referent === undefined ? part : `${part} ${referent.text}`;
}

/** Two sentences of one question go to an answering tool once. */
function isSameQuestion(previous: Task, task: Task): boolean {
  const soft = (one: Task) => one.filled.evidence < 1 && one.filled.turns === 1;
  return previous.profile === task.profile && soft(previous) && soft(task) && task.filled.missing.length === 0;
}

/** The clause's own words stand; what follows it adds members and lengthens lists. */
function joinArguments(own: JsonObject, wider: JsonObject): JsonObject {
  const joined = { ...wider, ...own };
  for (const [name, value] of Object.entries(wider)) {
    const narrow = joined[name];
    if (Array.isArray(value) && Array.isArray(narrow) && value.length > narrow.length) joined[name] = value;
  }
  return joined;
}

function callKey(name: string, args: JsonObject): string {
  return `${name} ${canonical(args)}`;
}

/** The first open step of that tool, by its arguments where several calls of it are due. */
function take(open: Step[], name: string, args: JsonObject | undefined): Step | undefined {
  const at = open.findIndex(
    (step) => step.name === name && (args === undefined || canonical(step.arguments) === canonical(args)),
  );
  return at < 0 ? undefined : open.splice(at, 1)[0];
}
