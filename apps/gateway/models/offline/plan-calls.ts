// Plans the next calls: the tasks of the request, each with the tool that fits it best, that the history does not show as
// done. Pure and bounded. Never repeats a call, and makes at most `mostSteps` calls.
import { canonicalJson } from '#libs/json-schema/canonical-hash.js';
import { compileSchema } from '#libs/json-schema/compile-schema.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import type { ModelRequest } from '../model-provider.js';
import { fillArguments, membersOf, type FillContext, type Filled, type FillableTool } from './fill-arguments.js';
import { resultText, type ConversationState } from './read-conversation-state.js';
import { isGreeting, isQuestion, readClause, splitRequest, type Clause } from './read-request.js';
import { alike, effects, looks, verbs } from './vocabulary.js';
import { isVerb, splitName, termsOf, tokenize } from './words.js';

export interface OfflineCall {
  name: string;
  arguments: JsonObject;
}

export interface Plan {
  calls: OfflineCall[];
  /** A tool that fits, but whose arguments are not all in the request. */
  lacking?: { name: string; missing: string[] } | undefined;
  /** Parts of the request that no call did or does. */
  undone: readonly string[];
  /** The rules cannot do the rest; no step failed and no limit was reached. */
  cannot?: boolean;
}

interface Task {
  /** The part of the request that the task is for. */
  said: string;
  tool: FillableTool;
  clause: Clause;
  filled: Filled;
  score: number;
  /** The task whose result is this task's text. */
  source?: Task | undefined;
}

const threshold = 2.5;
const mostEvidence = 3;
const mostSteps = 8;
/** Only this many characters of the request are read. */
export const mostRead = 4000;

export function readTool(definition: ToolDefinition): FillableTool {
  const name = termsOf(splitName(definition.name));
  const about = termsOf((definition.description ?? '').slice(0, 2000));
  const hasEffect = verbsIn(verbsIn(name).length > 0 ? name : about).some((verb) => effects.has(verb));
  return { definition, name, about, schema: definition.parameters ?? {}, hasEffect };
}

export function planOfflineCalls(conversation: ConversationState, offered: ModelRequest, now: number): Plan {
  const { steps } = conversation;
  const { tools, toolChoice, parallelToolCalls = true } = offered;
  const request = conversation.request.slice(0, mostRead);
  if (tools.length === 0 || toolChoice === 'none')
    return { calls: [], undone: leftOf(request, conversation, now), cannot: false };
  const named = typeof toolChoice === 'object' ? toolChoice.name : undefined;
  const chosen = tools.filter((tool) => named === undefined || tool.name === named).map(readTool);
  const { tasks, undone, lacking } = planTasks(isGreeting(request) ? '' : request, chosen, now);
  const { calls, left } = nextCalls(tasks, conversation);
  const isForced = steps.length === 0 && (named !== undefined || toolChoice === 'required');
  if (calls.length === 0 && isForced) {
    const clause = readClause(request, now);
    const all = chosen.map((tool) => taskFor(tool, clause, { request, force: true })).sort(byScore);
    calls.push(...all.filter(isComplete).slice(0, 1).map(callOf));
  }
  return {
    calls: parallelToolCalls ? calls : calls.slice(0, 1),
    lacking: tasks.length === 0 ? lacking : undefined,
    cannot: !steps.some(({ failed }) => failed),
    undone: [...new Set([...undone, ...left])].sort((one, other) => request.indexOf(one) - request.indexOf(other)),
  };
}

/** For a turn without tools, as at a limit: the parts that no step did, by the steps' names. */
function leftOf(request: string, { steps }: ConversationState, now: number): string[] {
  const done = steps.map(({ name }) => readTool({ name }));
  // A tool whose name says nothing may have done anything.
  if (done.length === 0 || done.some(({ name }) => verbsIn(name).length === 0)) return [];
  const parts = splitRequest(request, now).map(({ text }) => text);
  return parts.filter((part) => demandsMore(part, done, now));
}

function planTasks(
  request: string,
  tools: readonly FillableTool[],
  now: number,
): Omit<Plan, 'calls'> & { tasks: Task[] } {
  const tasks: Task[] = [];
  const undone: string[] = [];
  let lacking: Task | undefined;
  let carried = '';
  let before: Clause | undefined;

  /** The best tool for a clause. Undefined if a much better one lacks arguments. */
  const best = (clause: Clause): Task | undefined => {
    const fitting = matches(clause, tools, request)
      .map((task) => withSource(task, tools, now))
      .sort(byScore);
    const isReady = (task: Task) =>
      isComplete(task) || (isOpen(task) && (task.source !== undefined || tasks.length > 0));
    const ready = fitting.find(isReady);
    const other = fitting.find((task) => task.filled.missing.length > 0 && !isReady(task));
    if ((other?.score ?? 0) > (lacking?.score ?? 0)) lacking = other;
    return ready === undefined || ready.score + 1 < (other?.score ?? 0) ? undefined : ready;
  };

  for (const { text: part, follows } of splitRequest(request, now)) {
    if (follows && carried !== '') {
      undone.push(carried);
      carried = '';
    }
    const clause = readClause(withReferent(part, before), now);
    // The next part may complete a task that lacks something: 新建 a.txt，写入“你好”.
    const whole = carried === '' ? clause : readClause(`${carried}，${part}`, now);
    const task = best(whole) ?? best(clause);
    if (task !== undefined) {
      before = clause;
      const { tool, source, filled } = task;
      if (source !== undefined) tasks.push({ ...source, said: part });
      for (let index = 0; index < filled.count; index += 1)
        tasks.push({ ...taskFor(tool, task.clause, { request, index }), said: part });
      const texts = Object.values(filled.arguments).filter((value) => typeof value === 'string' && value !== '');
      const rest = texts.reduce<string>((text, value) => text.replaceAll(value as string, ' '), task.clause.text);
      if (demandsMore(rest, source === undefined ? [tool] : [tool, source.tool], now)) undone.push(part);
      carried = '';
    } else if (tasks.length === 0) carried = whole.text;
    else if (isApart(part, follows) || demandsMore(part, tasks.map(({ tool }) => tool), now)) undone.push(part); // prettier-ignore
  }
  if (tasks.length > 0 && carried !== '') undone.push(carried);
  const named = lacking && { name: lacking.tool.definition.name, missing: lacking.filled.missing };
  return { tasks: tasks.slice(0, mostSteps), undone, lacking: named };
}

/** Whether a part that no tool does is more than a question about a result: “tell me a joke”. */
function isApart(part: string, follows: boolean): boolean {
  const isAnswered = isQuestion(part) && !/\b(?:tell|give) (?:me|us) (?:an?|some)\b/i.test(part);
  return follows && !isAnswered;
}

function taskFor(tool: FillableTool, clause: Clause, how: Pick<FillContext, 'request' | 'index' | 'force'>): Task {
  const filled = fillArguments({ tool, clause, ...how });
  const score = scoreTool(tool, clause) + Math.min(mostEvidence, filled.evidence);
  return { said: clause.text, tool, clause, filled, score };
}

function matches(clause: Clause, tools: readonly FillableTool[], request: string): Task[] {
  const near = tools.filter((tool) => scoreTool(tool, clause) > 0);
  const tasks = near.map((tool) => taskFor(tool, clause, { request }));
  return tasks.filter(({ score }) => score >= threshold).sort(byScore);
}

/** The task, with the one that must fetch or read its content first: “save <URL> to <file>”, “summarize <file>”. */
function withSource(task: Task, tools: readonly FillableTool[], now: number): Task {
  const { filled, clause, tool } = task;
  const used = Object.values(filled.arguments);
  const item = [...clause.values.urls, ...clause.values.paths].find(({ text }) => !used.includes(text))?.text;
  // “Create a.txt and b.txt” does not put one file's text into the other.
  if (!isOpen(task) || item === undefined || clause.terms.has('create')) return task;
  const reading = readClause(`${item.includes('://') ? 'fetch' : 'read'} ${item}`, now);
  const source = matches(reading, tools, item).find(
    (one) => one.tool !== tool && !one.tool.hasEffect && isComplete(one),
  );
  return { ...task, source, score: task.score + (source?.filled.evidence ?? 0) };
}

/** Compares the tasks with the steps done so far. Stops at a task that needs an earlier result. */
function nextCalls(
  tasks: readonly Task[],
  { steps, request }: ConversationState,
): { calls: OfflineCall[]; left: string[] } {
  const open = [...steps];
  const made = new Set(steps.map(callKey));
  const calls: OfflineCall[] = [];
  const left: string[] = [];
  let earlier: { said: string; text: string } | undefined;
  let hasFailed = false;
  for (const [place, task] of tasks.entries()) {
    const { said, tool, filled } = task;
    const call = callOf(task);
    const same = open.findIndex((step) => callKey(step) === callKey(call));
    const at = same < 0 ? open.findIndex((step) => step.name === call.name) : same;
    const [step] = at < 0 ? [] : open.splice(at, 1);
    if (step !== undefined) {
      hasFailed ||= step.failed;
      const before = earlier?.said === said ? `${earlier.text}\n\n` : '';
      if (!step.failed && !tool.hasEffect) earlier = { said, text: `${before}${resultText(step.result ?? '')}` };
      continue;
    }
    const takes = filled.missing.length > 0 ? filled.takes : undefined;
    const waits = takes !== undefined && !hasFailed && (earlier === undefined || calls.length > 0);
    if (waits || (tool.hasEffect && calls.length > 0) || steps.length + calls.length >= mostSteps)
      return { calls, left: [...left, ...tasks.slice(place).map((one) => one.said)] };
    if (takes !== undefined && !hasFailed) call.arguments[takes] = earlier!.text;
    // The text of an overlong request would be written in part.
    const isCut = request.length > mostRead && tool.hasEffect && takes === undefined;
    if (made.has(callKey(call))) continue;
    if (isCut || !satisfies(tool.schema, call.arguments)) left.push(said);
    else calls.push(call);
    made.add(callKey(call));
    if (tool.hasEffect && calls.length > 0) break;
  }
  return { calls, left };
}

function callOf({ tool, filled }: Task): OfflineCall {
  return { name: tool.definition.name, arguments: { ...filled.arguments } };
}

/** Equal for equal calls, whatever the order of the arguments. */
function callKey({ name, arguments: args }: OfflineCall): string {
  return `${name} ${canonicalJson(args)}`;
}

function byScore(left: Task, right: Task): number {
  return right.score - left.score;
}

function isComplete({ tool, filled }: Task): boolean {
  return filled.missing.length === 0 && satisfies(tool.schema, filled.arguments);
}

/** Whether the only missing argument can be the result of an earlier task. */
function isOpen({ filled: { missing, takes } }: Task): boolean {
  return missing.length === 1 && missing[0] === takes;
}

/** Whether arguments satisfy a schema. A schema that cannot be compiled lets all pass: the gateway's own check decides. */
export function satisfies(schema: JsonObject, value: JsonObject): boolean {
  try {
    const { check } = compileSchema(schema, { maxBytes: 1_000_000, maxDepth: 64, deadlineMs: 100 });
    // The check fills in defaults.
    return check(structuredClone(value), JSON.stringify(value).length) === undefined;
  } catch {
    return true;
  }
}

/** Resolves “delete it”, 删除它 or 读出来 to the file or URL of the clause before. */
function withReferent(part: string, before: Clause | undefined): string {
  const referent = before?.values.paths[0] ?? before?.values.urls[0];
  const isBare = /^\p{Script=Han}{1,6}$/u.test(part) && tokenize(part).some(isVerb);
  const refers = isBare || /\bit\b|\b(?:this|that) file\b|它|该文件|这个文件/i.test(part);
  return referent !== undefined && refers ? `${part} ${referent.text}` : part;
}

const verbsIn = (terms: Iterable<string>): string[] => [...terms].filter((term) => verbs.has(term));

/** Whether verbs are, or stand for, verbs of a tool. */
const areAlike = (asked: readonly string[], own: readonly string[]): boolean =>
  alike.some((near) => asked.some((one) => near.includes(one)) && own.some((one) => near.includes(one)));

/** Whether a text has a verb that changes or makes something, and that no tool has. */
function demandsMore(text: string, tools: readonly FillableTool[], now: number): boolean {
  const own = tools.flatMap(({ name, about }) => verbsIn([...name, ...about]));
  const { tokens } = readClause(text, now);
  return tokens.some(({ terms }, at) => {
    const asked = verbsIn(terms);
    // “a copy” and “the sum” are things.
    const isNoun = /^(?:an?|the|my|our|your)$/i.test(tokens[at - 1]?.text ?? '');
    const isDone = asked.every((verb) => looks.has(verb)) || asked.some((verb) => own.includes(verb));
    return !isNoun && !isDone && !areAlike(asked, own);
  });
}

function scoreTool(tool: FillableTool, clause: Clause): number {
  const { name, about, schema, definition } = tool;
  let meaning = 0;
  for (const term of clause.terms) {
    if (verbs.has(term)) continue;
    // Many tools deal with files and pages, so these count less.
    if (name.has(term)) meaning += term === 'file' || term === 'web' ? 2 : 3;
    else if (about.has(term)) meaning += 1.5;
  }
  const verb = scoreVerb(tool, clause);
  meaning = Math.min(8, meaning) + Math.max(0, verb);
  const takesQuestion = membersOf(schema).some((one) => one.required && /question|query|prompt/i.test(one.name));
  if (takesQuestion && isQuestion(clause.text))
    meaning += name.has('search') ? 1.5 : about.has('ask') || name.has('ask') ? 3 : 0;
  // A name like read_file, other than a plain word, is meant as such.
  if (/.[_A-Z\d-]/.test(definition.name) && clause.text.includes(definition.name)) meaning += 10;
  return meaning === 0 ? 0 : meaning + Math.min(0, verb);
}

function scoreVerb({ name, about, hasEffect }: FillableTool, { terms, isStrange }: Clause): number {
  const asked = verbsIn(terms);
  const own = verbsIn(name);
  if (asked.some((verb) => name.has(verb))) return 4;
  if (asked.some((verb) => about.has(verb))) return own.length === 0 ? 2.5 : hasEffect ? 0.5 : 1.5;
  if (areAlike(asked, own)) return 1.5;
  if (own.length > 0 && hasEffect) return -5;
  // The request wants a change, but the tool only reads.
  if (asked.length > 0 && !hasEffect && asked.every((verb) => effects.has(verb))) return -3;
  if (isStrange) return -2;
  return own.length > 0 && asked.length > 0 ? -1 : 0;
}
