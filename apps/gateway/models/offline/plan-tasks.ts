// Splits a request into tasks, each with the tool that fits it best. Pure and bounded.
import { requiredOf, satisfies, type ToolProfile } from './describe-tool.js';
import { fillArguments, type Filled } from './fill-arguments.js';
import { effects, nearActions } from './lexicon.js';
import { asks, isGreeting, isQuestion, readClause, splitClauses, startsWithVerb, type Clause } from './read-request.js';
import { readWords, shared, type Token, type Words } from './words.js';

export interface Task {
  /** The part of the request that it is for. */
  said: string;
  profile: ToolProfile;
  clause: Clause;
  filled: Filled;
  score: number;
}

export interface Lacking {
  name: string;
  missing: string[];
  score: number;
}

/** Below this score no tool is called. */
const threshold = 3;
const mostEvidence = 3;
const mostTasks = 8;

export class TaskPlanner {
  /** The best tool whose arguments are not all in the request. */
  lacking: Lacking | undefined;
  /** Parts of the request that no tool does. */
  readonly undone: string[] = [];

  constructor(
    private readonly request: string,
    private readonly profiles: readonly ToolProfile[],
    private readonly now: number,
  ) {}

  tasks(): Task[] {
    const tasks: Task[] = [];
    let carried = '';
    for (const { text: part, follows } of splitClauses(this.request, this.now)) {
      const previous = tasks.at(-1);
      if (follows && carried !== '') {
        this.undone.push(carried.slice(0, -1));
        carried = '';
      }
      const text = `${carried}${part}`;
      const { tokens } = this.read(part);
      const acts = tokens.some(({ actions }) => actions.length > 0);
      const verb = follows && !acts && startsWithVerb(tokens) ? readWords(tokens[0]!.text) : undefined;
      const referring = withReferent(part, acts, previous);
      const alone = referring === text || (referring === part && !acts) ? undefined : referring;
      const task = this.best(text, previous) ?? (alone === undefined ? undefined : this.best(alone, previous));
      if (task !== undefined && (verb === undefined || names(task.profile, verb))) {
        carried = '';
        task.said = part;
        const source = task.filled.usesEarlier && previous !== undefined ? undefined : this.sourceOf(task);
        tasks.push(...(source === undefined ? [task] : [source, task]));
      } else if (previous === undefined) carried = `${text}，`;
      else if (this.isApart(part, follows, previous)) this.undone.push(part);
      else {
        previous.clause = this.read(`${previous.clause.text}，${part}`);
        previous.filled = { ...this.filledFor(previous), usesEarlier: previous.filled.usesEarlier };
      }
    }
    const done = tasks.slice(0, mostTasks);
    for (const { said, clause, filled } of done) {
      const texts = Object.values(filled.arguments).filter((value) => typeof value === 'string' && value !== '');
      const rest = texts.reduce<string>((text, value) => text.replaceAll(value as string, ' '), clause.text);
      if (demandsMore(this.read(rest).tokens, done)) this.undone.push(said);
    }
    return done;
  }

  /** Whether a part that no tool does is more than a detail of the task before it, or a question about its result. */
  private isApart(part: string, follows: boolean, previous: Task): boolean {
    const { tokens } = this.read(part);
    const acting = tokens.filter(({ actions }) => actions.length > 0);
    if (acting.length > 0 && acting.every((token) => covers(previous.profile, token))) return false;
    // “Tell me a joke” asks for more than a part of a result.
    const isAnswered = asks.test(part) && !/\b(?:tell|give) (?:me|us) (?:an?|some)\b/i.test(part);
    return !isAnswered && !isGreeting(part) && (follows || demandsMore(tokens, [previous]));
  }

  /** A call of the tool that fits best, with invented values where the request has none. */
  forced(): Task | undefined {
    const clause = this.read(this.request);
    const tasks = this.profiles.map((profile): Task => {
      const filled = fillArguments({ profile, clause, request: this.request, force: true });
      const risk = 2 * filled.missing.length + (profile.hasEffect ? 1 : 0);
      return {
        said: this.request,
        profile,
        clause,
        filled,
        score: scoreTool(profile, clause) + filled.evidence - risk,
      };
    });
    return tasks.sort(byScore).find(isComplete);
  }

  filledFor({ profile, clause }: Pick<Task, 'profile' | 'clause'>, earlier?: string | null, index?: number): Filled {
    return fillArguments({ profile, clause, request: this.request, earlier, index });
  }

  private read(text: string): Clause {
    return readClause(text, this.now);
  }

  /** The best tool for a text. Undefined if a much better one lacks arguments. */
  private best(text: string, previous: Task | undefined): Task | undefined {
    const tasks = this.matches(this.read(text), previous === undefined ? undefined : null);
    const complete = tasks.filter((task) => isComplete(task) || this.isOpen(task)).sort(byScore);
    const [lacking] = tasks.filter((task) => !complete.includes(task));
    if (lacking !== undefined && lacking.filled.missing.length > 0 && lacking.score > (this.lacking?.score ?? 0))
      this.lacking = { name: lacking.profile.tool.name, missing: lacking.filled.missing, score: lacking.score };
    const [best] = complete;
    return best === undefined || best.score + 1 < (lacking?.score ?? 0) ? undefined : best;
  }

  /** The tools that fit a clause, best first. */
  private matches(clause: Clause, earlier?: null): Task[] {
    return this.profiles
      .flatMap((profile): Task[] => {
        const meaning = scoreTool(profile, clause);
        if (meaning + mostEvidence < threshold || meaning <= 0) return [];
        const filled = this.filledFor({ profile, clause }, earlier);
        const score = meaning + Math.min(mostEvidence, filled.evidence);
        return score < threshold ? [] : [{ said: clause.text, profile, clause, filled, score }];
      })
      .sort(byScore);
  }

  /** Whether the only missing argument is the result of an earlier task, or of one that can be put before it. */
  private isOpen(task: Task): boolean {
    return task.filled.missing.length === 1 && (task.filled.usesEarlier || this.sourceOf(task) !== undefined);
  }

  /** For “save <URL> to <file>” or “summarize <file>”: the task that must fetch or read the content first. */
  private sourceOf(task: Task): Task | undefined {
    const { urls, paths } = task.clause.values;
    // “Create a.txt and b.txt” does not say that one has what the other gets.
    if (task.clause.words.actions.has('create')) return undefined;
    if (task.filled.missing.length !== 1 || !this.filledFor(task, null).usesEarlier) return undefined;
    const used = new Set(Object.values(task.filled.arguments));
    const source = [...urls, ...paths].find((item) => !used.has(item.text));
    if (source === undefined) return undefined;
    const clause = this.read(`${urls.includes(source) ? 'fetch' : 'read'} ${source.text}`);
    const found = this.matches(clause).find(
      (one) => one.profile !== task.profile && !one.profile.hasEffect && isComplete(one),
    );
    if (found !== undefined && !task.filled.usesEarlier) {
      task.filled.usesEarlier = true;
      task.score += found.filled.evidence;
    }
    return found;
  }
}

/** Actions that only look at something: a result that is shown answers them. */
const looks: ReadonlySet<string> = new Set(['read', 'list', 'search', 'fetch', 'ask', 'describe', 'echo', 'run']);
const alike: readonly (readonly string[])[] = [['write', 'create', 'set'], ['remind', 'create', 'set'], ['move', 'set']]; // prettier-ignore

function covers({ name, description }: ToolProfile, { actions }: Token): boolean {
  const own = new Set([...name.actions, ...description.actions]);
  return actions.some(
    (action) => own.has(action) || alike.some((near) => near.includes(action) && near.some((one) => own.has(one))),
  );
}

/** Whether a verb that is no action of the lexicon is one of the tool's words: `email_file` for “email it”. */
function names({ name, description }: ToolProfile, verb: Words): boolean {
  return [name, description].some(
    ({ things, rest }) => shared(things, verb.things).length + shared(rest, verb.rest).length > 0,
  );
}

/** Whether there is an action that changes or makes something, and that no tool of the tasks does. */
export function demandsMore(tokens: readonly Token[], tasks: readonly Pick<Task, 'profile'>[]): boolean {
  return tokens.some((token, at) => {
    // “a copy” and “the sum” are things.
    const isNoun = /^(?:an?|the|my|our|your)$/i.test(tokens[at - 1]?.text ?? '');
    const changes = token.actions.some((action) => !looks.has(action));
    return changes && !isNoun && !tasks.some(({ profile }) => covers(profile, token));
  });
}

function byScore(left: Task, right: Task): number {
  return right.score - left.score;
}

export function isComplete({ profile, filled }: Pick<Task, 'profile' | 'filled'>): boolean {
  return filled.missing.length === 0 && satisfies(profile.schema, filled.arguments);
}

/** Resolves “delete it”, 删除它 or 读出来 to the file or URL of the previous clause. */
function withReferent(part: string, acts: boolean, previous: Task | undefined): string {
  const referent = previous?.clause.values.paths[0] ?? previous?.clause.values.urls[0];
  const refers =
    /\bit\b|\b(?:this|that) file\b|它|该文件|这个文件/i.test(part) || (acts && /^\p{Script=Han}{1,6}$/u.test(part));
  return referent !== undefined && refers ? `${part} ${referent.text}` : part;
}

/** How much a tool's name and description have in common with a clause. */
function scoreTool(profile: ToolProfile, clause: Clause): number {
  const { name, description, parameters } = profile;
  const { words } = clause;
  const count = (left: ReadonlySet<string>, right: ReadonlySet<string>) => shared(left, right).length;
  let meaning = Math.min(4, 2.5 * count(words.rest, name.rest)) + Math.min(3, count(words.rest, description.rest));
  // Many tools deal with files and pages, so these count less.
  for (const thing of shared(words.things, name.things)) meaning += thing === 'file' || thing === 'web' ? 2 : 3;
  meaning += 2 * shared(words.things, description.things).filter((thing) => !name.things.has(thing)).length;
  const action = scoreAction(profile, clause);
  meaning += Math.max(0, action);
  const asks = [...name.actions, ...description.actions].some((one) => one === 'ask' || one === 'search');
  if (asks && isQuestion(clause.text) && requiredOf(profile.resolved).some((one) => /question|query|prompt/i.test(one)))
    meaning += name.actions.has('search') ? 1.5 : 3;
  // A name like read_file, other than a plain word, is meant as such.
  if (/.[_A-Z\d-]/.test(profile.tool.name) && clause.text.includes(profile.tool.name)) meaning += 10;
  return meaning === 0 ? 0 : meaning + Math.min(0, action) + Math.min(2, count(words.things, parameters.things) / 2);
}

function scoreAction({ name, description, hasEffect }: ToolProfile, { words: { actions } }: Clause): number {
  const own = name.actions;
  if (shared(actions, own).length > 0) return 4;
  if (shared(actions, description.actions).length > 0) return own.size === 0 ? 2.5 : hasEffect ? 0.5 : 1.5;
  if (nearActions.some((near) => near.some((one) => actions.has(one)) && near.some((one) => own.has(one)))) return 1.5;
  if (own.size > 0 && hasEffect) return -5;
  // The request wants a change, but the tool only reads.
  if (actions.size > 0 && !hasEffect && [...actions].every((action) => effects.has(action))) return -3;
  return own.size > 0 && actions.size > 0 ? -1 : 0;
}
