// Fills a tool's arguments from a clause and the tool's JSON Schema. Leaves out optional arguments that are not in the
// clause, and reports required ones as missing. Invents values only if the call is forced.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { unitOfTime } from './entities.js';
import { flagIn, isWithin, momentFor, optionIn, type Member } from './pick-value.js';
import { candidatesFor, contentIn, directed, namedValue, termsForName, type Clause } from './read-request.js';
import {
  descriptionOf, kindOf, propertiesOf, requiredOf, resolve, roleOf, typeOf, type Kind, type ToolProfile,
} from './tool-profile.js'; // prettier-ignore
import { hasHan, splitName, topics } from './words.js';

export interface FillContext {
  clause: Clause;
  /** The user's whole message, used for free-text questions. */
  request: string;
  profile: ToolProfile;
  /** The result of the previous step; null if it is still to come, undefined if there is no such step. */
  earlier: string | null | undefined;
  /** The index of the file, URL or place that this call is for. */
  index: number;
  /** Whether to invent values that the request does not have. */
  force: boolean;
  /** Epoch ms. */
  now: number;
}

export interface Filled {
  arguments: JsonObject;
  /** Required parameters that are not in the request. */
  missing: string[];
  /** The weighted sum of the arguments found in the request. */
  evidence: number;
  /** How many calls the clause needs, if the tool handles one thing at a time. */
  callCount: number;
  /** Whether the previous step's result is an argument. */
  usesEarlier: boolean;
}

const weights: Partial<Record<Kind, number>> = {
  url: 2.5, email: 2, path: 1.5, currency: 1.5, expression: 2, location: 1.5, offset: 1.5, moment: 1, symbol: 1.5,
}; // prettier-ignore
const mostDepth = 6;
const mostMembers = 100;
const each: readonly Kind[] = ['path', 'url', 'location', 'symbol'];

export function fillArguments(context: FillContext): Filled {
  return new Filler(context).run();
}

class Filler {
  private readonly filled: Filled = { arguments: {}, missing: [], evidence: 0, callCount: 1, usesEarlier: false };
  /** Quotations and numbers that are already used for a parameter. */
  private readonly used = new Set<string | number>();

  constructor(private readonly context: FillContext) {}

  run(): Filled {
    const { resolved } = this.context.profile;
    this.reserve(resolved, 0);
    this.filled.arguments = this.object(resolved, 0);
    return this.filled;
  }

  /** Reserves quotations that name their parameter (`author is "Kim"`). */
  private reserve(schema: JsonObject, depth: number): void {
    if (depth > 2 || this.context.clause.entities.quotes.length === 0) return;
    for (const [name, own] of Object.entries(propertiesOf(schema)).slice(0, mostMembers)) {
      const named = namedValue(name, this.context.clause);
      if (named !== undefined) this.used.add(named);
      this.reserve(resolve(own, this.context.profile.schema), depth + 1);
    }
  }

  private object(schema: JsonObject, depth: number): JsonObject {
    const entries: [string, Json][] = [];
    const required = requiredOf(schema);
    const properties = propertiesOf(schema);
    const names = Object.keys(properties).slice(0, mostMembers);
    const kinds: Kind[] = [];
    // Required ones get the values first.
    for (const name of new Set([...required, ...names])) {
      const isRequired = required.includes(name);
      const own = Object.hasOwn(properties, name) ? resolve(properties[name], this.context.profile.schema) : {};
      const member = { name, schema: own, required: isRequired, depth };
      const before = this.filled.missing.length;
      const found = depth > mostDepth || !names.includes(name) ? undefined : this.value(member);
      const value = found ?? (isRequired && names.includes(name) ? this.fallback(member) : undefined);
      if (value !== undefined) entries.push([name, value]);
      else if (isRequired && this.filled.missing.length === before) this.filled.missing.push(name);
      if (found !== undefined && typeof found === 'string') kinds.push(kindOf(name, own, this.context.profile));
    }
    for (const kind of each) {
      if (kinds.filter((one) => one === kind).length !== 1) continue;
      this.filled.callCount = Math.max(this.filled.callCount, candidatesFor(kind, this.context.clause).length);
    }
    return Object.fromEntries(entries);
  }

  private value(member: Member): Json | undefined {
    const { name, schema, required } = member;
    if (schema['const'] !== undefined) return required ? schema['const'] : undefined;
    if (Array.isArray(schema['enum'])) return this.sure(optionIn(name, schema['enum'], this.context.clause), 0.75);
    const type = typeOf(schema);
    if (type === 'object') return this.nested(member);
    if (type === 'array') return this.array(member);
    if (type === 'boolean') return this.sure(flagIn(name, schema, this.context.clause), 0.75);
    if (type === 'null') return required ? null : undefined;
    const kind = kindOf(name, schema, this.context.profile);
    if (type === 'number' || type === 'integer') return this.number(member, kind);
    const text = this.string(member, kind);
    if (text === undefined || text === '') return undefined;
    const most = typeof schema['maxLength'] === 'number' ? Math.max(0, schema['maxLength']) : Infinity;
    return this.sure(text.slice(0, most), weights[kind] ?? 0.5);
  }

  private sure<T extends Json>(value: T | undefined, evidence: number): T | undefined {
    if (value !== undefined) this.filled.evidence += evidence;
    return value;
  }

  private nested({ schema, required, depth }: Member): Json | undefined {
    const { evidence, missing } = this.filled;
    const before = missing.length;
    const value = this.object(schema, depth + 1);
    if (required || (this.filled.evidence > evidence && missing.length === before)) return value;
    missing.length = before;
    this.filled.evidence = evidence;
    return undefined;
  }

  private array({ name, schema, required, depth }: Member): Json | undefined {
    const { clause, profile } = this.context;
    const items = resolve(schema['items'], profile.schema);
    const type = typeOf(items);
    let values: Json[];
    if (Array.isArray(items['enum']))
      values = items['enum'].filter((one) => optionIn(name, [one], clause) !== undefined);
    else if (type === 'number' || type === 'integer') {
      const numbers = clause.entities.numbers.map((number) => number.value);
      values = numbers.filter((value) => type === 'number' || Number.isInteger(value));
    } else if (type === 'string' || type === undefined) {
      const listed = namedValue(name, clause)
        ?.split(/\s*[,，、]\s*|\s+and\s+|和/)
        .filter(Boolean);
      const found = listed ?? candidatesFor(kindOf(name, items, profile), clause);
      const quotes = clause.entities.quotes.map((quote) => quote.text);
      const others = quotes.length > 0 ? quotes : topics(clause.entities.masked).slice(0, 8);
      values = found.length > 0 || !required ? found : others;
    } else {
      const one = this.value({ name, schema: items, required, depth: depth + 1 });
      values = one === undefined || (isJsonObject(one) && Object.keys(one).length === 0) ? [] : [one];
    }
    if (schema['uniqueItems'] === true) values = [...new Set(values)];
    const most = typeof schema['maxItems'] === 'number' ? schema['maxItems'] : 32;
    return this.sure(values.length === 0 ? undefined : values.slice(0, most), 1);
  }

  private number({ name, schema, required }: Member, kind: Kind): number | undefined {
    const { clause, profile } = this.context;
    const isWhole = typeOf(schema) === 'integer';
    const fits = (value: number) => isWithin(schema, value) && (!isWhole || Number.isInteger(value));
    const named = Number.parseFloat(namedValue(name, clause)?.replaceAll(',', '') ?? '');
    if (Number.isFinite(named) && fits(named)) return this.sure(named, 0.75);
    const words = `${splitName(name)} ${descriptionOf(schema)}`.toLowerCase();
    if (kind === 'offset') {
      const shift = clause.entities.moments.find((moment) => moment.offsetMs !== undefined)?.offsetMs;
      const unit =
        words
          .match(timeWord)
          ?.map(unitOfTime)
          .find((size) => size !== undefined) ?? 1;
      const value = shift === undefined ? undefined : (shift / unit) * (/\bago\b/.test(words) ? -1 : 1);
      // Avoid negative zero, which JSON does not have.
      if (value !== undefined && fits(value)) return this.sure(value === 0 ? 0 : value, weights.offset!);
      if (shift === undefined && required && fits(0) && profile.name.things.has('time')) return 0;
    }
    const free = clause.entities.numbers.filter((number) => !this.used.has(number.start) && fits(number.value));
    const terms = termsForName(name);
    const near = free.find(({ start, end, unit }) => {
      const around = clause.lower.slice(Math.max(0, start - 14), end + 18);
      const isCounted = counted.test(unit)
        ? limitPattern.test(words)
        : unit === '%'
          ? percent.test(words)
          : unit.length > 1 && words.includes(unit);
      return isCounted || terms.some((term) => around.includes(term));
    });
    const chosen = near ?? (required ? free[0] : undefined);
    if (chosen === undefined) return undefined;
    this.used.add(chosen.start);
    return this.sure(chosen.value, near === undefined ? 0.75 : 1.25);
  }

  private string(member: Member, kind: Kind): string | undefined {
    const { name, required } = member;
    const { clause, request, profile, index, now } = this.context;
    const { entities } = clause;
    const role = roleOf(name, profile);
    if (kind === 'path' || kind === 'url' || kind === 'currency') {
      const found = { path: entities.paths, url: entities.urls, currency: entities.currencies }[kind];
      if (found.length > 1 && role === undefined) return found[Math.min(index, found.length - 1)]!.text;
      if (kind === 'path' && found.length === 0 && required && profile.name.actions.has('list')) return '.';
      return directed(found, clause.text, role)?.text ?? namedValue(name, clause);
    }
    if (kind === 'moment') return momentFor(member, entities.moments, now);
    const named = namedValue(name, clause);
    if (named !== undefined) return this.take(named);
    const found = candidatesFor(kind, clause).filter((value) => !this.used.has(value));
    const isTold = required || (kind === 'location' && clause.words.things.has('weather'));
    if (kind === 'language') return found.at(-1);
    if (kind === 'email' || kind === 'time_zone') return found[0];
    if (!isTold) return undefined;
    if (kind === 'location' || kind === 'symbol') {
      if (role !== undefined && found.length > 1) return role === 'source' ? found[0] : found.at(-1);
      return this.take(found[Math.min(index, found.length - 1)]);
    }
    if (kind === 'query' || kind === 'expression') return this.take(found[0]);
    if (kind === 'question') return request.trim();
    return this.take(kind === 'content' ? this.content() : this.plain(name));
  }

  private take(value: string | undefined): string | undefined {
    if (value !== undefined) this.used.add(value);
    return value;
  }

  private freeQuote(): string | undefined {
    return this.context.clause.entities.quotes.find((quote) => !this.used.has(quote.text))?.text;
  }

  /** For a string of unknown kind: the next quotation, an identifier, the name after “in the …” or “called …”, or a topic. */
  private plain(name: string): string | undefined {
    const { clause, profile } = this.context;
    const { masked } = clause.entities;
    const quote = this.freeQuote();
    if (quote !== undefined) return quote;
    if (profile.name.actions.has('run')) {
      const command = commandPattern.exec(clause.text)?.[1];
      if (command !== undefined) return command;
    }
    if (/\b(?:id|no|number|code|key)$|编号/i.test(splitName(name))) return identifier.exec(masked)?.[0];
    const called = calledPattern.exec(masked)?.[1]?.trim();
    return called !== undefined && !hasHan(called) ? called : topics(masked).find((topic) => !/^\d+$/.test(topic));
  }

  private content(): string | undefined {
    const { clause, earlier, profile, request } = this.context;
    const own = contentIn(clause);
    const free = own !== undefined && !this.used.has(own) ? own : this.freeQuote();
    if (free !== undefined) return free;
    if (earlier !== undefined) {
      this.filled.usesEarlier = true;
      return earlier ?? undefined;
    }
    const { actions, things } = profile.name;
    if (actions.has('remind') || things.has('note')) return this.plain('');
    const takesAny =
      actions.has('ask') || actions.has('analyze') || actions.has('summarize') || actions.has('translate');
    return takesAny && clause.entities.paths.length + clause.entities.urls.length === 0 ? request.trim() : undefined;
  }

  /** For a required value that is not in the request: one from the schema, or a harmless one. */
  private fallback({ name, schema }: Member): Json | undefined {
    const { force, request } = this.context;
    if (schema['default'] !== undefined) return schema['default'];
    if (Array.isArray(schema['enum'])) return schema['enum'][0];
    const type = typeOf(schema);
    const isNumber = type === 'integer' || type === 'number';
    if (type === 'boolean') return false;
    if (isNumber && (force || /\b(?:limit|count|max|page|offset|index)\b/.test(splitName(name).toLowerCase())))
      return [10, 0, 1, Math.ceil(Number(schema['minimum'])), Math.floor(Number(schema['maximum']))].find((value) =>
        isWithin(schema, value),
      );
    if (!force || isNumber) return undefined;
    if (type === 'array' || type === 'object') return type === 'array' ? [] : {};
    return schema['format'] === undefined ? request.trim() || undefined : undefined;
  }
}

const commandPattern =
  /(?:\b(?:run|execute)\b|运行|执行)(?:\s{1,3}the)?\s{0,3}(?:command|script|code|命令|代码)?\s{0,3}[:：]?\s{0,3}(\S.*)$/is;
const identifier = /(?<![\w.])(?:[A-Za-z]{1,10}-?)?\d[\w-]{0,60}(?![\w.])/;
const calledPattern =
  /\b(?:in|for|called|named|titled|about|of)\s+(?:the\s+|an?\s+)?([\p{L}][\p{L}\d'’ -]{0,60}?)(?=\s+(?:at|to|on|and|with|by|from|for|is|tomorrow|today)\b|[?.!,;\uFFFC]|\s*$)/iu;
const timeWord = /[a-z]+|毫秒|秒|分钟|小时|天|周/g;
const limitPattern = /limit|count|top|max|size|results?|数量|条数|个数/;
const counted = /^(?:条|个|篇|项|行|份|件|结果|results?|items?|hits?|rows?|docs?|matches)/;
const percent = /brightness|percent|volume|level|亮度|音量/;
