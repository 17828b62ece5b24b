// Fills a tool's arguments from a clause by its JSON Schema. What the clause does not say is left out when it is optional
// and reported as missing when it is required; nothing is invented unless the call is forced.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { kindOf, propertiesOf, requiredOf, resolve, typeOf, type Kind, roleOf } from './describe-tool.js';
import type { FillContext } from './fill-context.js';
import { fallbackFor } from './fall-back.js';
import { commandOrId, flagIn, listAfter, mentionedOption, momentStyle } from './fit-values.js';
import { isWithin, unitFits, unitOf } from './fit-numbers.js';
import {
  candidatesFor, contentIn, directed, momentText, namedValue, offsetIn, termsForName,
} from './read-clause.js'; // prettier-ignore
import { hasHan, splitName, topics } from './words.js';

export interface Filled {
  arguments: JsonObject;
  /** Paths of required parameters that the request says nothing about. */
  missing: string[];
  /** What was really found in the request, weighed by how telling it is. */
  evidence: number;
  /** How many calls the clause asks for when the tool takes one thing at a time. */
  turns: number;
  /** The result of the step before is one of the arguments. */
  usesEarlier: boolean;
}

const WEIGHTS: Partial<Record<Kind, number>> = {
  url: 2.5,
  email: 2,
  path: 1.5,
  currency: 1.5,
  expression: 2,
  location: 1.5,
  offset: 1.5,
  moment: 1,
  symbol: 1.5,
};
const MAX_DEPTH = 6;
const EACH: ReadonlySet<Kind> = new Set(['path', 'url', 'location', 'symbol']);

export function fillArguments(context: FillContext): Filled {
  return new Filler(context).run();
}

class Filler {
  private readonly filled: Filled = { arguments: {}, missing: [], evidence: 0, turns: 1, usesEarlier: false };
  private readonly quotesUsed = new Set<string>();
  private readonly numbersUsed = new Set<number>();
  private readonly scalars = new Map<Kind, number>();

  constructor(private readonly context: FillContext) {}

  run(): Filled {
    const { schema } = this.context.profile;
    this.reserveQuotes(resolve(schema, schema), 0);
    const value = this.object('', resolve(schema, schema), 0);
    this.filled.arguments = value;
    for (const [kind, count] of this.scalars) {
      if (EACH.has(kind) && count === 1)
        this.filled.turns = Math.max(this.filled.turns, candidatesFor(kind, this.context.clause).length);
    }
    return this.filled;
  }

  /** A quotation that names its parameter (`author is "Kim"`) is no other parameter's. */
  private reserveQuotes(schema: JsonObject, depth: number): void {
    const quotes = new Set(this.context.clause.entities.quotes.map((quote) => quote.text));
    if (quotes.size < 2 || depth > 2) return;
    for (const [name, own] of Object.entries(propertiesOf(schema)).slice(0, 100)) {
      const named = namedValue(name, '', this.context.clause);
      if (named !== undefined && quotes.has(named)) this.quotesUsed.add(named);
      this.reserveQuotes(resolve(own, this.context.profile.schema), depth + 1);
    }
  }

  private object(path: string, schema: JsonObject, depth: number): JsonObject {
    const value: JsonObject = {};
    const required = new Set(requiredOf(schema));
    const properties = Object.entries(propertiesOf(schema)).slice(0, 100);
    for (const [name, own] of [
      ...properties.filter(([name]) => required.has(name)),
      ...properties.filter(([name]) => !required.has(name)),
    ]) {
      const place = path === '' ? name : `${path}.${name}`;
      const resolved = resolve(own, this.context.profile.schema);
      const before = this.filled.missing.length;
      const found =
        depth > MAX_DEPTH ? undefined : this.value(name, resolved, { required: required.has(name), depth, place });
      if (found !== undefined)
        Object.defineProperty(value, name, { value: found, enumerable: true, writable: true, configurable: true });
      else if (required.has(name)) {
        const fallback = fallbackFor(name, resolved, this.context);
        if (fallback !== undefined)
          Object.defineProperty(value, name, { value: fallback, enumerable: true, writable: true, configurable: true });
        else if (this.filled.missing.length === before) this.filled.missing.push(place);
      }
    }
    for (const name of required) if (!properties.some(([known]) => known === name)) this.filled.missing.push(name);
    return value;
  }

  private value(
    name: string,
    schema: JsonObject,
    at: { required: boolean; depth: number; place: string },
  ): Json | undefined {
    if (schema['const'] !== undefined) return at.required ? schema['const'] : undefined;
    if (Array.isArray(schema['enum'])) return this.enumerated(name, schema['enum']);
    const type = typeOf(schema);
    if (type === 'object') return this.nested(schema, at);
    if (type === 'array') return this.array(name, schema, at);
    if (type === 'boolean') return this.sure(flagIn(name, schema, this.context.clause));
    if (type === 'null') return at.required ? null : undefined;
    const kind = kindOf(name, schema, this.context.profile);
    if (type === 'number' || type === 'integer') return this.number(name, schema, { kind, required: at.required });
    const text = this.string(name, schema, { kind, required: at.required });
    if (text === undefined || text === '') return undefined;
    this.filled.evidence += WEIGHTS[kind] ?? 0.5;
    this.scalars.set(kind, (this.scalars.get(kind) ?? 0) + 1);
    const most = typeof schema['maxLength'] === 'number' ? Math.max(0, schema['maxLength']) : Infinity;
    return text.length > most ? text.slice(0, most) : text;
  }

  private nested(schema: JsonObject, at: { required: boolean; depth: number; place: string }): Json | undefined {
    const before = { evidence: this.filled.evidence, missing: this.filled.missing.length };
    const value = this.object(at.place, schema, at.depth + 1);
    if (at.required) return value;
    if (this.filled.evidence > before.evidence && this.filled.missing.length === before.missing) return value;
    this.filled.missing.length = before.missing;
    this.filled.evidence = before.evidence;
    return undefined;
  }

  private enumerated(name: string, options: Json[]): Json | undefined {
    const found = mentionedOption(name, options, this.context.clause);
    return found === undefined ? undefined : this.sure(found);
  }

  private array(
    name: string,
    schema: JsonObject,
    at: { required: boolean; depth: number; place: string },
  ): Json | undefined {
    const items = resolve(schema['items'], this.context.profile.schema);
    const most = typeof schema['maxItems'] === 'number' ? schema['maxItems'] : 32;
    const type = typeOf(items);
    let values: Json[];
    if (Array.isArray(items['enum']))
      values = items['enum'].filter((option) => this.enumerated(name, [option]) !== undefined);
    else if (type === 'number' || type === 'integer') {
      values = this.context.clause.entities.numbers
        .map((number) => number.value)
        .filter((value) => type === 'number' || Number.isInteger(value));
    } else if (type === 'string' || type === undefined) values = this.strings(name, items, at.required);
    else {
      const one = this.value(name, items, { ...at, depth: at.depth + 1 });
      values = one === undefined || (isJsonObject(one) && Object.keys(one).length === 0) ? [] : [one];
    }
    if (schema['uniqueItems'] === true) values = [...new Set(values)];
    if (values.length > 0) this.filled.evidence += 1;
    return values.length > 0 ? values.slice(0, most) : undefined;
  }

  private strings(name: string, items: JsonObject, required: boolean): string[] {
    const { clause } = this.context;
    const kind = kindOf(name, items, this.context.profile);
    const listed = namedValue(name, '', clause) ?? listAfter(name, clause.text);
    if (listed !== undefined && kind !== 'path' && kind !== 'url')
      return listed.split(/\s*[,，、]\s*|\s+and\s+|和/).filter(Boolean);
    const found = candidatesFor(kind, clause);
    if (found.length > 0) return found;
    if (!required) return [];
    const quotes = clause.entities.quotes.map((quote) => quote.text);
    return quotes.length > 0 ? quotes : topics(clause.entities.masked).slice(0, 8);
  }

  private sure<T>(value: T): T {
    if (value !== undefined) this.filled.evidence += 0.75;
    return value;
  }

  private number(name: string, schema: JsonObject, want: { kind: Kind; required: boolean }): number | undefined {
    const { clause, profile } = this.context;
    const isWhole = typeOf(schema) === 'integer';
    const fits = (value: number) => isWithin(schema, value) && (!isWhole || Number.isInteger(value));
    const description = typeof schema['description'] === 'string' ? schema['description'].slice(0, 300) : '';
    const named = Number.parseFloat(namedValue(name, description, clause)?.replaceAll(',', '') ?? '');
    if (Number.isFinite(named) && fits(named)) return this.sure(named);
    const unit = unitOf(name, description);
    if (
      want.kind === 'offset' ||
      (unit !== undefined && (profile.name.things.has('time') || profile.description.things.has('time')))
    ) {
      const moment = offsetIn(clause);
      if (moment !== undefined) {
        const shift = moment.offsetMs! / (unit ?? 1);
        const value = /\bago\b|以前|之前/.test(`${splitName(name)} ${description}`.toLowerCase()) ? -shift : shift;
        const exact = isWhole ? Math.round(value) : value;
        if (fits(exact)) {
          this.filled.evidence += WEIGHTS.offset!;
          return exact === 0 ? 0 : exact;
        }
      }
      if (want.required && fits(0) && schema['default'] === undefined && profile.name.things.has('time')) return 0;
    }
    const free = clause.entities.numbers.filter((number) => !this.numbersUsed.has(number.start) && fits(number.value));
    const terms = termsForName(name, description);
    const near = free.find((number) => {
      const around = clause.text.slice(Math.max(0, number.start - 14), number.end + 18).toLowerCase();
      return terms.some((term) => around.includes(term)) || unitFits(name, description, number.unit);
    });
    const only = want.required ? free[0] : undefined;
    const chosen = near ?? only;
    if (chosen === undefined) return undefined;
    this.numbersUsed.add(chosen.start);
    this.filled.evidence += near === undefined ? 0.75 : 1.25;
    return chosen.value;
  }

  private string(name: string, schema: JsonObject, want: { kind: Kind; required: boolean }): string | undefined {
    const { clause, request, profile, turn } = this.context;
    const description = typeof schema['description'] === 'string' ? schema['description'] : '';
    const role = roleOf(name, profile);
    if (want.kind === 'path' || want.kind === 'url' || want.kind === 'currency') {
      const found = { path: clause.entities.paths, url: clause.entities.urls, currency: clause.entities.currencies }[
        want.kind
      ];
      if (found.length > 1 && role === undefined) return found[Math.min(turn, found.length - 1)]!.text;
      const one = directed(found, clause, role);
      if (one !== undefined) return one.text;
      if (want.kind === 'path' && want.required && profile.name.actions.has('list')) return '.';
      return namedValue(name, description, clause);
    }
    if (want.kind === 'moment') {
      const style = momentStyle(name, schema);
      const { moments } = clause.entities;
      const isEnd = /^(?:end|until|to|due)/.test(name.toLowerCase());
      const anchors = moments.filter((moment) => moment.minuteOfDay === undefined);
      if (isEnd && !want.required && anchors.length < 2) return undefined;
      return momentText(isEnd && anchors.length > 1 ? [anchors.at(-1)!] : moments, this.context.now, style);
    }
    if (want.kind === 'offset') return offsetIn(clause)?.text;
    const named = namedValue(name, description, clause);
    if (named !== undefined) {
      this.quotesUsed.add(named);
      return named;
    }
    const found = candidatesFor(want.kind, clause).filter((value) => !this.quotesUsed.has(value));
    if (want.kind === 'language') return found.at(-1);
    if (want.kind === 'email' || want.kind === 'time_zone') return found[0];
    if (want.kind === 'location' && role !== undefined && found.length > 1)
      return role === 'source' ? found[0] : found.at(-1);
    if (want.kind === 'location' && (want.required || clause.words.things.has('weather')))
      return this.quote(found[Math.min(turn, found.length - 1)]);
    if (!want.required) return undefined;
    if (want.kind === 'content') return this.content(want.required);
    if (want.kind === 'question') return request.trim();
    if (want.kind === 'query' || want.kind === 'symbol' || want.kind === 'expression')
      return this.quote(found[want.kind === 'symbol' ? Math.min(turn, found.length - 1) : 0]);
    return this.quote(this.plain(name));
  }

  /** A string of no known kind: the next quotation, what “in the …”/“called …” names, else the clause's own topic. */
  private plain(name: string): string | undefined {
    const { clause } = this.context;
    const quote = clause.entities.quotes.find((one) => !this.quotesUsed.has(one.text));
    if (quote !== undefined) return quote.text;
    const own = commandOrId(name, clause, this.context.profile.name.actions.has('run'));
    if (own !== undefined) return own;
    const place =
      /\b(?:in|for|called|named|titled|about|of)\s+(?:the\s+|an?\s+)?([\p{L}][\p{L}\d'’ -]{0,60}?)(?=\s+(?:at|to|on|and|with|by|from|for|is|tomorrow|today)\b|[?.!,;\uFFFC]|\s*$)/iu.exec(
        clause.entities.masked,
      )?.[1];
    if (place !== undefined && !hasHan(place)) return place.trim();
    return topics(clause.entities.masked).find((topic) => !/^\d+$/.test(topic));
  }

  private quote(value: string | undefined): string | undefined {
    if (value !== undefined) this.quotesUsed.add(value);
    return value;
  }

  private content(required: boolean): string | undefined {
    const { clause, earlier, profile, request } = this.context;
    const own = contentIn(clause, earlier !== undefined);
    if (own !== undefined && !this.quotesUsed.has(own)) return this.quote(own);
    const other = clause.entities.quotes.find((one) => !this.quotesUsed.has(one.text));
    if (other !== undefined) return this.quote(other.text);
    if (earlier !== undefined) {
      this.filled.usesEarlier = true;
      return earlier === '' ? undefined : (earlier ?? undefined);
    }
    if (profile.name.actions.has('remind') || profile.name.things.has('reminder') || profile.name.things.has('note')) {
      return this.quote(this.plain(''));
    }
    const asks = ['ask', 'analyze', 'summarize', 'translate'].some((action) => profile.name.actions.has(action));
    if (required && asks && clause.entities.paths.length + clause.entities.urls.length === 0) return request.trim();
    return undefined;
  }
}
