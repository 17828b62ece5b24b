// JSON Schema 2020-12 and draft-07 of tools that others wrote: compiled once, bounded in size, depth and time.
// Patterns run on RE2 (linear); one that RE2 cannot run is left out and reported. Nothing is ever fetched.
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import type { JsonObject } from '#libs/schemas/json.js';
import { describeViolation } from './describe-violation.js';
import { DeadlineExceeded, runBounded } from './run-bounded.js';

export interface SchemaBounds {
  maxBytes: number;
  maxDepth: number;
  /** The time for one check; a compilation has ten times that. */
  deadlineMs: number;
}

export interface CompiledSchema {
  /** The problem of `value`, in words for a model; undefined if there is none. Fills in defaults. */
  check(value: unknown, valueBytes: number): string | undefined;
  readonly droppedPatterns: readonly string[];
}

/** Work of at most this (schema bytes times value bytes) is done without a watchdog: well under a millisecond. */
const unguardedWork = 2_000_000;
const compileFactor = 10;
/** A busy machine may make one check late; a schema that is late again and again is given up. */
const maxStrikes = 3;
/** Keywords that can cost more than schema size times value size: references, comparisons of all with all, repeated patterns. */
const costly = /"(?:\$(?:ref|dynamicRef|recursiveRef)|uniqueItems|patternProperties)"|"pattern":"[^"]*\{/;

/** @throws Error with a message for the operator when the schema is over a bound or no schema at all. */
export function compileSchema(schema: JsonObject, bounds: SchemaBounds): CompiledSchema {
  if (exceedsDepth(schema, bounds.maxDepth)) throw new Error(`schema is nested deeper than ${bounds.maxDepth} levels`);
  const text = JSON.stringify(schema);
  if (Buffer.byteLength(text) > bounds.maxBytes) throw new Error(`schema is larger than ${bounds.maxBytes} bytes`);
  const dropped: string[] = [];
  const guarded = costly.test(text);
  const validate = guarded
    ? runBounded(() => compile(schema, dropped), bounds.deadlineMs * compileFactor)
    : compile(schema, dropped);
  let strikes = 0;

  return {
    droppedPatterns: dropped,
    check(value, valueBytes) {
      if (strikes >= maxStrikes) return tooSlow;
      const small = !guarded && text.length * valueBytes <= unguardedWork;
      try {
        const valid = small ? validate(value) : runBounded(() => validate(value), bounds.deadlineMs);
        return valid ? undefined : describeFirst(validate.errors);
      } catch (error) {
        if (error instanceof DeadlineExceeded) strikes += 1;
        return tooSlow;
      }
    },
  };
}

const tooSlow = 'the arguments could not be checked against the schema of this tool in time';

function describeFirst(errors: ErrorObject[] | null | undefined): string {
  return errors?.[0] === undefined ? 'does not match the schema' : describeViolation(errors[0]);
}

function compile(schema: JsonObject, dropped: string[]): ValidateFunction {
  const options: Options = {
    strict: false,
    meta: false,
    validateSchema: false,
    validateFormats: false,
    useDefaults: true,
    // Otherwise `constructor` and its like count as members of every object.
    ownProperties: true,
    logger: false,
    verbose: true,
    code: { regExp: linearEngine(dropped) },
  };
  const { $schema, $async: _asynchronous, ...rest } = schema;
  const draft07 = typeof $schema === 'string' && /draft-0[3-7]/.test($schema);
  return (draft07 ? new Ajv(options) : new Ajv2020(options)).compile(rest);
}

function linearEngine(dropped: string[]) {
  const engine = (pattern: string) => {
    try {
      const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
      return { test: (text: string) => compiled.test(text) };
    } catch {
      dropped.push(pattern.slice(0, 200));
      return { test: () => true };
    }
  };
  engine.code = 'linear';
  return engine;
}

/** Iterative, so that no depth can exhaust the stack. */
export function exceedsDepth(value: unknown, maxDepth: number): boolean {
  const pending: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue;
    if (next.depth >= maxDepth) return true;
    for (const member of Object.values(next.value)) {
      if (typeof member === 'object') pending.push({ value: member, depth: next.depth + 1 });
    }
  }
  return false;
}
