// Plans the next calls: splits the request into tasks, finds a tool for each, skips those that the history shows as done.
// Pure and bounded: never repeats a call, and makes at most `maxSteps` calls.
import type { JsonObject } from '#libs/schemas/json.js';
import type { ToolChoice, ToolDefinition } from '#libs/schemas/tool-definition.js';
import { satisfies } from './check-arguments.js';
import { callKey, type Conversation } from './conversation.js';
import { fillArguments, type Filled } from './fill-arguments.js';
import { effects, nearActions } from './lexicon.js';
import { isGreeting, isQuestion, readClause, splitClauses, type Clause } from './read-request.js';
import { resultText } from './read-result.js';
import { describeTool, propertiesOf, requiredOf, type ToolProfile } from './tool-profile.js';
import { readWords, shared } from './words.js';

export interface PlannedCall {
  name: string;
  arguments: JsonObject;
}

export interface Plan {
  calls: PlannedCall[];
  /** A tool that fits, but whose arguments are not all in the request. */
  lacking?: { name: string; missing: string[] } | undefined;
}

export interface PlanOptions {
  tools: readonly ToolDefinition[];
  toolChoice: ToolChoice | undefined;
  parallel: boolean;
  now: number;
}

const maxSteps = 8;
/** Only this many characters of the request are read. */
export const maxRequest = 4000;
/** Below this score no tool is called. */
const threshold = 3;
const mostEvidence = 3;

interface Task {
  profile: ToolProfile;
  clause: Clause;
  filled: Filled;
  score: number;
}

export function chooseCalls(conversation: Conversation, options: PlanOptions): Plan {
  const { tools, toolChoice } = options;
  if (tools.length === 0 || toolChoice === 'none' || conversation.steps.length >= maxSteps) return { calls: [] };
  const named = typeof toolChoice === 'object' ? toolChoice.name : undefined;
  const profiles = tools.filter((tool) => named === undefined || tool.name === named).map(describeTool);
  const isForced = toolChoice === 'required' || named !== undefined;
  return new Planner(conversation, profiles, options).plan(isForced, named === undefined ? threshold : -Infinity);
}

class Planner {
  private lacking: { name: string; missing: string[]; score: number } | undefined;
  private readonly request: string;
  private least = threshold;

  constructor(
    private readonly conversation: Conversation,
    private readonly profiles: readonly ToolProfile[],
    private readonly options: PlanOptions,
  ) {
    this.request = conversation.request.slice(0, maxRequest);
  }

  plan(isForced: boolean, least: number): Plan {
    this.least = least;
    const tasks = isGreeting(this.request) && !isForced ? [] : this.tasks();
    let calls = this.nextCalls(tasks);
    if (calls.length === 0 && isForced && this.conversation.steps.length === 0) calls = this.forcedCall();
    if (!this.options.parallel) calls.length = Math.min(calls.length, 1);
    return { calls, lacking: tasks.length === 0 ? this.lacking : undefined };
  }

  private tasks(): Task[] {
    const tasks: Task[] = [];
    let carried = '';
    for (const part of splitClauses(this.request)) {
      const previous = tasks.at(-1);
      const text = `${carried}${part}`;
      const task = this.best(text, tasks.length > 0) ?? this.best(withReferent(part, previous), tasks.length > 0);
      const isSame =
        task !== undefined &&
        task.profile === previous?.profile &&
        task.filled.evidence < 1 &&
        previous.filled.evidence < 1;
      if (previous !== undefined && (task === undefined || isSame)) {
        // The clause continues the previous task.
        previous.clause = readClause(`${previous.clause.text}，${part}`);
        previous.filled = { ...this.filledFor(previous, undefined), usesEarlier: previous.filled.usesEarlier };
      } else if (task === undefined) carried = `${text}，`;
      else {
        carried = '';
        const source = tasks.length > 0 && task.filled.usesEarlier ? undefined : this.sourceOf(task);
        tasks.push(...(source === undefined ? [task] : [source, task]));
      }
    }
    return tasks.slice(0, maxSteps);
  }

  /** The best tool for a text. Undefined if a much better one lacks arguments. */
  private best(text: string, follows: boolean): Task | undefined {
    const clause = readClause(text);
    const complete: Task[] = [];
    let mostLacking = 0;
    for (const profile of this.profiles) {
      const meaning = meaningOf(profile, clause);
      if (meaning + mostEvidence < this.least) continue;
      const filled = this.filledFor({ profile, clause }, follows ? null : undefined);
      const score = meaning <= 0 ? meaning : meaning + Math.min(mostEvidence, filled.evidence);
      if (score < this.least) continue;
      const task = { profile, clause, filled, score };
      const { missing, usesEarlier } = filled;
      const isOpen = missing.length === 1 && (usesEarlier || this.sourceOf(task) !== undefined);
      if (isOpen || (missing.length === 0 && satisfies(profile.schema, filled.arguments))) complete.push(task);
      else mostLacking = Math.max(mostLacking, score);
      if (missing.length > 0 && !isOpen && score > (this.lacking?.score ?? 0))
        this.lacking = { name: profile.tool.name, missing, score };
    }
    const best = complete.sort(byScore)[0];
    return best !== undefined && best.score + 1 < mostLacking ? undefined : best;
  }

  /** For “save <URL> to <file>” or “summarize <file>”: the task that must fetch or read the content first. */
  private sourceOf(task: Task): Task | undefined {
    const { urls, paths } = task.clause.entities;
    if (task.filled.missing.length !== 1) return undefined;
    const used = new Set(Object.values(task.filled.arguments));
    const source = [...urls, ...paths].find((item) => !used.has(item.text));
    if (source === undefined || !this.filledFor(task, null).usesEarlier) return undefined;
    const clause = readClause(`${urls.includes(source) ? 'fetch' : 'read'} ${source.text}`);
    const sources: Task[] = [];
    for (const profile of this.profiles) {
      if (profile === task.profile || profile.hasEffect) continue;
      const filled = this.filledFor({ profile, clause }, undefined);
      const score = meaningOf(profile, clause) + Math.min(mostEvidence, filled.evidence);
      if (score >= threshold && filled.missing.length === 0 && satisfies(profile.schema, filled.arguments))
        sources.push({ profile, clause, filled, score });
    }
    if (sources.length > 0) task.filled.usesEarlier = true;
    return sources.sort(byScore)[0];
  }

  private filledFor(
    { profile, clause }: Pick<Task, 'profile' | 'clause'>,
    earlier: string | null | undefined,
    index = 0,
    force = false,
  ): Filled {
    return fillArguments({ clause, request: this.request, profile, earlier, index, force, now: this.options.now });
  }

  /** Compares the tasks with the steps done so far. Stops at a task that needs an earlier result. */
  private nextCalls(tasks: readonly Task[]): PlannedCall[] {
    const open = [...this.conversation.steps];
    const done = new Set(open.map((step) => callKey(step.name, step.arguments)));
    const isCut = this.conversation.request.length > maxRequest;
    const calls: PlannedCall[] = [];
    let earlier: string | null | undefined;
    let hasFailed = false;
    for (const task of tasks) {
      const { name } = task.profile.tool;
      const { hasEffect } = task.profile;
      const given = task.filled.usesEarlier ? (earlier ?? null) : earlier;
      const callCount = hasEffect ? 1 : Math.min(this.filledFor(task, given).callCount, maxSteps);
      const results: string[] = [];
      for (let index = 0; index < callCount; index += 1) {
        const filled = this.filledFor(task, given, index);
        const key = callKey(name, filled.arguments);
        const at = open.findIndex(
          (step) => step.name === name && (callCount === 1 || callKey(step.name, step.arguments) === key),
        );
        if (at >= 0) {
          const [step] = open.splice(at, 1);
          if (step!.result !== undefined && !step!.failed && !hasEffect) results.push(resultText(step!.result));
          hasFailed ||= step!.failed;
          continue;
        }
        if (filled.usesEarlier && typeof given !== 'string' && !hasFailed) return calls;
        if (filled.usesEarlier && hasFailed) continue;
        if (filled.missing.length > 0 || done.has(key) || !satisfies(task.profile.schema, filled.arguments)) continue;
        // The text of a cut request is incomplete: do not write it.
        if (isCut && hasEffect && !filled.usesEarlier) continue;
        if (hasEffect && calls.length > 0) return calls;
        if (this.conversation.steps.length + calls.length >= maxSteps) return calls;
        done.add(key);
        calls.push({ name, arguments: filled.arguments });
        if (hasEffect) return calls;
      }
      if (results.length > 0) earlier = results.join('\n\n');
      else if (calls.length > 0) earlier = null;
    }
    return calls;
  }

  private forcedCall(): PlannedCall[] {
    const clause = readClause(this.request);
    const tasks = this.profiles.map((profile): Task => {
      const filled = this.filledFor({ profile, clause }, undefined, 0, true);
      const score =
        meaningOf(profile, clause) + filled.evidence - 2 * filled.missing.length - (profile.hasEffect ? 1 : 0);
      return { profile, clause, filled, score };
    });
    const best = tasks.sort(byScore).find(({ profile, filled }) => satisfies(profile.schema, filled.arguments));
    return best === undefined ? [] : [{ name: best.profile.tool.name, arguments: best.filled.arguments }];
  }
}

function byScore(left: Task, right: Task): number {
  return right.score - left.score;
}

/** Resolves “delete it”, 删除它 or 读出来 to the file or URL of the previous clause. */
function withReferent(part: string, previous: Task | undefined): string {
  if (previous === undefined) return part;
  const { paths, urls } = previous.clause.entities;
  const leavesOut = /^\p{Script=Han}{1,6}$/u.test(part) && readWords(part).actions.size > 0;
  const referent =
    /\bit\b|\b(?:this|that) file\b|它|该文件|这个文件/i.test(part) || leavesOut ? (paths[0] ?? urls[0]) : undefined;
  return referent === undefined ? part : `${part} ${referent.text}`;
}

/** Scores how much a tool's name and description have in common with the clause. */
function meaningOf({ tool, name, description, parameters, resolved, hasEffect }: ToolProfile, clause: Clause): number {
  const { words } = clause;
  const count = (left: ReadonlySet<string>, right: ReadonlySet<string>) => shared(left, right).length;
  let meaning = Math.min(4, count(words.rest, name.rest) * 2.5) + Math.min(3, count(words.rest, description.rest));
  // Many tools deal with files and pages, so these count less.
  for (const thing of shared(words.things, name.things)) meaning += thing === 'file' || thing === 'web' ? 2 : 3;
  for (const thing of shared(words.things, description.things)) meaning += name.things.has(thing) ? 0 : 2;
  const action = actionScore(name, description, clause, hasEffect);
  meaning += Math.max(0, action);
  if (isQuestion(clause.text)) {
    const takes = requiredOf(resolved).some(
      (one) => Object.hasOwn(propertiesOf(resolved), one) && /question|query|prompt|^q$|问题/i.test(one),
    );
    const has = (verb: string) => name.actions.has(verb) || description.actions.has(verb);
    if (takes && has('ask')) meaning += 3;
    else if (takes && has('search')) meaning += 1.5;
  }
  if (isNamed(tool.name, clause.text)) meaning += 10;
  return meaning === 0 ? 0 : meaning + Math.min(0, action) + Math.min(2, count(words.things, parameters.things) / 2);
}

function actionScore(name: Clause['words'], description: Clause['words'], clause: Clause, hasEffect: boolean): number {
  const { actions } = clause.words;
  const own = name.actions;
  if (shared(actions, own).length > 0) return 4;
  if (shared(actions, description.actions).length > 0) return own.size === 0 ? 2.5 : hasEffect ? 0.5 : 1.5;
  if (nearActions.some((near) => near.some((one) => actions.has(one)) && near.some((one) => own.has(one)))) return 1.5;
  if (own.size > 0 && hasEffect) return -5;
  // The request wants a change, but the tool only reads.
  if (actions.size > 0 && !hasEffect && [...actions].every((action) => effects.has(action))) return -3;
  return own.size > 0 && actions.size > 0 ? -1 : 0;
}

function isNamed(name: string, text: string): boolean {
  const at = name.length < 3 || /^[a-z]{1,7}$/.test(name) ? -1 : text.indexOf(name);
  return at >= 0 && !/\w/.test(`${text[at - 1] ?? ' '}${text[at + name.length] ?? ' '}`);
}
