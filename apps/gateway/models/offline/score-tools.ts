// How well a tool suits a clause: its name first, then its description, then whether the clause says what it needs.
// Something that changes things must be asked for by its verb; likeness alone never calls it.
import { isJsonObject } from '#libs/schemas/json.js';
import { propertiesOf, requiredOf, resolve, type ToolProfile } from './describe-tool.js';
import type { Filled } from './fill-arguments.js';
import { EFFECTS, NEAR_ACTIONS } from './lexicon.js';
import type { Clause } from './read-clause.js';
import { shared } from './words.js';

/** Below this no tool is called. */
export const THRESHOLD = 3;

const QUESTION =
  /[?？]|^\s*(?:how|what|why|when|where|who|which|is|are|do|does|can|could|should|will|would)\b|吗|呢|什么|为什么|如何|怎么|怎样|多少|哪|谁|是否|请问|请回答/i;
const GREETING =
  /^[\s\p{P}]*(?:hi|hello|hey|thanks|thank you|good (?:morning|evening|afternoon)|how are you|who are you|what can you do|what are you|bye|你好|您好|嗨|早上好|晚上好|谢谢|多谢|再见|你是谁|你能做什么|在吗)/iu;

export function isQuestion(text: string): boolean {
  return QUESTION.test(text.slice(0, 2000)) && !isGreeting(text);
}

export function isGreeting(text: string): boolean {
  return text.length < 60 && GREETING.test(text);
}

export function hasEffect(profile: ToolProfile): boolean {
  const own = profile.name.actions.size > 0 ? profile.name.actions : profile.description.actions;
  return [...own].some((action) => EFFECTS.has(action));
}

export function isNamed(profile: ToolProfile, text: string): boolean {
  const name = profile.tool.name;
  const at = name.length < 3 ? -1 : text.indexOf(name);
  return (
    at >= 0 &&
    !/[A-Za-z0-9_]/.test(`${text[at - 1] ?? ' '}${text[at + name.length] ?? ' '}`) &&
    (/[^a-z]/.test(name) || name.length > 7)
  );
}

/** What name and description have in common with the clause; 0 is nothing at all. */
export function meaningOf(profile: ToolProfile, clause: Clause): number {
  const { name, description } = profile;
  const { words } = clause;
  let things = 0;
  for (const thing of shared(words.things, name.things)) things += thing === 'file' || thing === 'web' ? 2 : 3;
  for (const thing of shared(words.things, description.things)) if (!name.things.has(thing)) things += 2;
  const rest =
    Math.min(4, shared(words.rest, name.rest).length * 2.5) + Math.min(3, shared(words.rest, description.rest).length);
  const actions = actionScore(profile, clause);
  const meaning = Math.max(0, actions) + things + rest + asksFor(profile, clause);
  const named = isNamed(profile, clause.text) ? 10 : 0;
  if (meaning + named === 0) return 0;
  return (
    Math.min(actions, 0) + meaning + named + Math.min(2, shared(words.things, profile.parameters.things).length * 0.5)
  );
}

export const MOST_EVIDENCE = 3;

export function scoreTool(profile: ToolProfile, clause: Clause, filled: Filled): number {
  const meaning = meaningOf(profile, clause);
  return meaning <= 0 ? meaning : meaning + Math.min(MOST_EVIDENCE, filled.evidence);
}

function actionScore(profile: ToolProfile, clause: Clause): number {
  const own = profile.name.actions;
  const { actions } = clause.words;
  if (shared(actions, own).length > 0) return 4;
  const described = shared(actions, profile.description.actions);
  const harms = hasEffect(profile);
  if (described.length > 0) return own.size === 0 ? 2.5 : harms ? 0.5 : 1.5;
  const isNear = NEAR_ACTIONS.some(
    (group) => group.some((action) => actions.has(action)) && group.some((action) => own.has(action)),
  );
  if (isNear) return 1.5;
  if (actions.size === 0 && clause.entities.emails.length > 0 && own.has('send')) return 1.5;
  if (own.size > 0 && harms) return -5;
  // What asks for a change is not served by looking.
  if (actions.size > 0 && !harms && [...actions].every((action) => EFFECTS.has(action))) return -3;
  return own.size > 0 && actions.size > 0 ? -1 : 0;
}

/** A tool that answers questions suits a question, when nothing more particular does. */
function asksFor(profile: ToolProfile, clause: Clause): number {
  if (!isQuestion(clause.text)) return 0;
  const names = requiredOf(resolve(profile.schema, profile.schema)).filter((name) =>
    isJsonObject(propertiesOf(profile.schema)[name]),
  );
  const asks =
    profile.name.actions.has('ask') || profile.description.actions.has('ask') || profile.name.things.has('knowledge');
  const takes = names.some((name) => /question|query|prompt|^q$|问题/i.test(name));
  return takes && asks ? 3 : takes && hasSearch(profile) ? 1.5 : 0;
}

const hasSearch = (profile: ToolProfile): boolean =>
  profile.name.actions.has('search') || profile.description.actions.has('search');
