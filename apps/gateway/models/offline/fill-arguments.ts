// Fills a tool's arguments from a clause and the tool's JSON Schema. Leaves out optional arguments that are not in the
// clause, and reports required ones as missing. Invents values only if the call is forced.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { aboutMember, kindOf, propertiesOf, requiredOf, resolve, roleOf, typeOf } from './describe-tool.js';
import type { Kind, Member, ToolProfile } from './describe-tool.js';
import { afterAction, contentIn, namedValue, queryIn, valueBehind } from './find-text.js';
import type { Found } from './find-values.js';
import { isoFor, offsetFor } from './moments.js';
import { directed, flagIn, isWithin, numberIn, optionIn } from './pick-value.js';
import type { Clause } from './read-request.js';
import { splitName, topicsOf } from './words.js';

export interface FillContext {
  profile: ToolProfile;
  clause: Clause;
  /** The user's whole message, used for free-text questions. */
  request: string;
  /** The result of the previous step; null if it is still to come, undefined if there is no such step. */
  earlier?: string | null | undefined;
  /** The index of the file, URL or place that this call is for. */
  index?: number | undefined;
  /** Whether to invent values that the request does not have. */
  force?: boolean;
}

export interface Filled {
  arguments: JsonObject;
  /** Required parameters that are not in the request. */
  missing: string[];
  /** How much of what the clause says is in the arguments. */
  evidence: number;
  /** How many calls the clause needs, if the tool handles one thing at a time. */
  callCount: number;
  /** Whether the previous step's result is an argument. */
  usesEarlier: boolean;
}

const evidenceOf: Partial<Record<Kind, number>> = {
  url: 2.5, email: 2, expression: 2, path: 1.5, location: 1.5, offset: 1.5, moment: 1,
}; // prettier-ignore
const formatted: readonly Kind[] = ['url', 'email', 'moment'];
const mostDepth = 6;
const mostMembers = 100;
const mostItems = 32;

export function fillArguments(context: FillContext): Filled {
  return new Filler(context).fill();
}

class Filler {
  private readonly filled: Filled = { arguments: {}, missing: [], evidence: 0, callCount: 1, usesEarlier: false };
  /** Texts and numbers that are already a parameter's value. */
  private readonly used = new Set<unknown>();

  constructor(private readonly context: FillContext) {}

  fill(): Filled {
    this.filled.arguments = this.object(this.context.profile.resolved, 0);
    return this.filled;
  }

  private object(schema: JsonObject, depth: number): JsonObject {
    const required = requiredOf(schema);
    const properties = propertiesOf(schema);
    const names = [...new Set([...required, ...Object.keys(properties).slice(0, mostMembers)])];
    const entries: [string, Json][] = [];
    // Required ones get the values first.
    for (const name of names) {
      const isKnown = Object.hasOwn(properties, name) && depth <= mostDepth;
      const own = isKnown ? resolve(properties[name], this.context.profile.schema) : {};
      const member = { name, schema: own, required: required.includes(name) };
      const before = this.filled.missing.length;
      const found = isKnown ? this.value(member, depth) : undefined;
      const value = found ?? (isKnown && member.required ? this.fallback(member) : undefined);
      if (value !== undefined) entries.push([name, value]);
      else if (member.required && this.filled.missing.length === before) this.filled.missing.push(name);
    }
    return Object.fromEntries(entries);
  }

  private value(member: Member, depth: number): Json | undefined {
    const { name, schema, required } = member;
    const { clause, profile } = this.context;
    const type = typeOf(schema);
    if (schema['const'] !== undefined || type === 'null') return required ? (schema['const'] ?? null) : undefined;
    if (Array.isArray(schema['enum'])) return this.found(optionIn(name, schema['enum'], clause), 0.75);
    if (type === 'object') return this.nested(member, depth);
    if (type === 'array') return this.array(member, depth);
    if (type === 'boolean') return this.found(flagIn(name, clause), 0.75);
    const kind = kindOf(name, schema, profile);
    if (type === 'number' || type === 'integer') {
      const offset = kind === 'offset' ? offsetFor(aboutMember(member), clause.values.moments) : undefined;
      if (offset !== undefined && isWithin(schema, offset)) return this.found(offset, 1.5);
      const isNow = kind === 'offset' && required && profile.name.things.has('time') && isWithin(schema, 0);
      return isNow ? 0 : this.found(numberIn(member, clause, this.used), 1);
    }
    // Formats other than these cannot be read from a request.
    if (schema['format'] !== undefined && !formatted.includes(kind)) return undefined;
    const text = this.text(member, kind);
    this.used.add(text);
    return text === '' ? undefined : this.found(text, evidenceOf[kind] ?? 0.5);
  }

  private found<T extends Json>(value: T | undefined, evidence: number): T | undefined {
    if (value !== undefined) this.filled.evidence += evidence;
    return value;
  }

  /** An optional object is left out unless the clause says something of it, and all that it requires. */
  private nested({ schema, required }: Member, depth: number): Json | undefined {
    const { evidence, missing } = this.filled;
    const before = missing.length;
    const value = this.object(schema, depth + 1);
    if (required || (this.filled.evidence > evidence && missing.length === before)) return value;
    missing.length = before;
    this.filled.evidence = evidence;
    return undefined;
  }

  private array({ name, schema, required }: Member, depth: number): Json | undefined {
    const { clause, profile } = this.context;
    const items = resolve(schema['items'], profile.schema);
    const type = typeOf(items);
    const kind = kindOf(name, items, profile);
    let values: Json[] = [];
    if (Array.isArray(items['enum']))
      values = items['enum'].filter((one) => optionIn(name, [one], clause) !== undefined);
    else if (type === 'number' || type === 'integer')
      values = clause.values.numbers.map(({ value }) => value).filter((value) => isWithin(items, value));
    else if (type !== 'string' && type !== undefined) {
      const one = this.value({ name, schema: items, required }, depth + 1);
      if (one !== undefined && !(isJsonObject(one) && Object.keys(one).length === 0)) values = [one];
    } else if (items['format'] === undefined || kind === 'url' || kind === 'email') {
      const listed = namedValue(name, clause)
        ?.split(/\s*[,，、]\s*|\s+and\s+|和/)
        .filter(Boolean);
      if (listed !== undefined) values = listed;
      else if (required || evidenceOf[kind] !== undefined) values = this.candidates(kind).map(({ text }) => text);
    }
    return values.length === 0 ? undefined : this.found([...new Set(values)].slice(0, mostItems), 1);
  }

  /** The values of a kind in the clause, best first. */
  private candidates(kind: Kind): readonly Found[] {
    const { name, parameters } = this.context.profile;
    const { masked, urls, paths, emails, timeZones, quotes } = this.context.clause.values;
    const byKind: Partial<Record<Kind, Found[]>> = { path: paths, url: urls, email: emails, time_zone: timeZones };
    if (byKind[kind] !== undefined) return byKind[kind];
    const topics = topicsOf(masked, new Set([...name.rest, ...parameters.rest]));
    // Places and names have capitals, where there are any.
    const names = topics.filter(({ text }) => /^[\p{Lu}\p{Script=Han}]/u.test(text));
    return [...quotes, ...(names.length > 0 ? names : topics)].filter(({ text }) => !this.used.has(text));
  }

  private text({ name, schema, required }: Member, kind: Kind): string | undefined {
    const { clause, request, profile } = this.context;
    if (kind === 'moment') return isoFor(name, schema['format'], clause.values.moments);
    if (['path', 'url', 'email', 'time_zone'].includes(kind)) return this.oneOf(name, kind);
    const named = namedValue(name, clause);
    if (named !== undefined) return named;
    if (kind === 'location' && (required || clause.words.things.has('weather'))) return this.oneOf(name, kind);
    if (!required) return profile.name.actions.has('search') ? this.searched(kind) : undefined;
    if (kind === 'expression') return clause.values.expression;
    if (kind === 'question') return request.trim();
    if (kind === 'query') return this.freeQuote() ?? queryIn(clause);
    if (kind === 'content') return this.content();
    const said = valueBehind(name, clause) ?? this.freeQuote();
    if (said !== undefined) return said;
    return profile.name.actions.has('run') ? afterAction(clause, ['other', 'known']) : this.oneOf(name, kind);
  }

  /** The one for this call; or, of a source and a target, the one that the clause points at. */
  private oneOf(name: string, kind: Kind): string | undefined {
    const { clause, profile, index = 0 } = this.context;
    const found = this.candidates(kind);
    const role = roleOf(name, profile);
    const each: readonly Kind[] = ['path', 'url', 'location', 'time_zone'];
    if (role !== undefined) return directed(found, clause.text, role)?.text;
    if (found.length > 1 && each.includes(kind)) {
      this.filled.callCount = Math.max(this.filled.callCount, found.length);
      return found[Math.min(index, found.length - 1)]!.text;
    }
    const isHere = kind === 'path' && profile.name.actions.has('list') && requiredOf(profile.resolved).includes(name);
    return found[0]?.text ?? (isHere ? '.' : undefined);
  }

  /** What a search tool that requires nothing is to find: names by a pattern like *.md, contents by a quotation. */
  private searched(kind: Kind): string | undefined {
    const isMeant = (text: string) => (text.includes('*') ? kind === 'text' : kind === 'content' || kind === 'query');
    return this.context.clause.values.quotes.find(({ text }) => isMeant(text) && !this.used.has(text))?.text;
  }

  private freeQuote(): string | undefined {
    return this.context.clause.values.quotes.find(({ text }) => !this.used.has(text))?.text;
  }

  private content(): string | undefined {
    const { clause, earlier, profile, request } = this.context;
    const own = contentIn(clause);
    if (own === null) return undefined;
    const said = own !== undefined && !this.used.has(own) ? own : this.freeQuote();
    if (said !== undefined) return said;
    if (earlier !== undefined) {
      this.filled.usesEarlier = true;
      return earlier ?? undefined;
    }
    const { actions, things } = profile.name;
    if (actions.has('remind') || actions.has('echo') || things.has('note'))
      return afterAction(clause, ['other', 'known']);
    const takesAny = ['ask', 'analyze', 'summarize', 'translate'].some((action) => actions.has(action));
    return takesAny && clause.values.paths.length + clause.values.urls.length === 0 ? request.trim() : undefined;
  }

  /** For a required value that is not in the request: one from the schema, or a harmless one. */
  private fallback({ name, schema }: Member): Json | undefined {
    const { force = false, request } = this.context;
    const type = typeOf(schema);
    if (schema['default'] !== undefined) return schema['default'];
    if (Array.isArray(schema['enum'])) return schema['enum'][0];
    if (type === 'boolean') return false;
    if (type === 'integer' || type === 'number') {
      const isCount = /\b(?:limit|count|max|page|offset|index)\b/.test(splitName(name).toLowerCase());
      return force || isCount ? [10, 0, 1, Number(schema['minimum'])].find((one) => isWithin(schema, one)) : undefined;
    }
    if (!force) return undefined;
    if (type === 'array' || type === 'object') return type === 'array' ? [] : {};
    return schema['format'] === undefined ? request.trim() || undefined : undefined;
  }
}
