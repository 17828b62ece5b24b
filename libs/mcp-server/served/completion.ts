// Completes arguments of prompts and variables of resource templates.
import type { CompleteResult } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Completer } from '../decorators.js';
import type { ToolContext } from '../tool-context.js';

/** The protocol's limit. */
const maxValues = 100;

export interface Completing {
  typed: string;
  given: Readonly<Record<string, string>>;
}

export const noCompletion: CompleteResult = { completion: { values: [], total: 0, hasMore: false } };

/** `instance`: `this` of the completer. */
export async function completeValue(
  completer: Completer | undefined,
  instance: object | undefined,
  { typed, given }: Completing,
  context: ToolContext,
): Promise<CompleteResult> {
  if (completer === undefined) return noCompletion;
  const found = isList(completer)
    ? completer.filter((value) => value.toLowerCase().startsWith(typed.toLowerCase()))
    : await completer.call(instance as never, typed, given, context);
  const { length: total } = found;
  return { completion: { values: found.slice(0, maxValues), total, hasMore: total > maxValues } };
}

/** The values of an argument that is a choice. */
export function choicesOf(schema: z.ZodObject | undefined, name: string): readonly string[] | undefined {
  const argument: unknown = schema?.shape[name];
  const inner = argument instanceof z.ZodOptional || argument instanceof z.ZodDefault ? argument.unwrap() : argument;
  return inner instanceof z.ZodEnum ? inner.options.map(String) : undefined;
}

const isList = (completer: Completer): completer is readonly string[] => Array.isArray(completer);
