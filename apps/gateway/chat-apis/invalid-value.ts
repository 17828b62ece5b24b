// Converts problems of a body to an error that names the invalid field, the same for all dialects.
import type { z } from 'zod';
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';

type Issue = z.core.$ZodIssue;

/** @throws AppError invalid_value */
export function requireObject(body: unknown): JsonObject {
  if (!isJsonObject(body)) throw new AppError('invalid_value', 'The body must be a JSON object', { param: 'body' });
  return body;
}

/** The value as the schema parses it. @throws AppError invalid_value for the first problem */
export function validated<Schema extends z.ZodType>(schema: Schema, given: unknown): z.output<Schema> {
  const parsed = schema.safeParse(given);
  if (!parsed.success) throw invalidValue(parsed.error);
  return parsed.data;
}

/**
 * Parses a whole request in place. The schema must be loose. Only present members are parsed, because zod's objects do work for
 * every possible member. @throws AppError invalid_value for the first problem
 */
export function validatedBody<Schema extends z.ZodObject>({ shape }: Schema, body: JsonObject): z.output<Schema> {
  for (const name in shape) {
    const member = shape[name] as z.ZodType;
    if (body[name] === undefined && member.type === 'optional') continue;
    const parsed = member.safeParse(body[name]);
    if (!parsed.success) throw invalidValue(parsed.error, [name]);
    body[name] = parsed.data as Json;
  }
  return body as z.output<Schema>;
}

function invalidValue(error: z.ZodError, within: string[] = []): AppError {
  const { path, message } = deepest(error.issues[0]!);
  const keys = [...within, ...path].map((key, at) =>
    typeof key === 'number' ? `[${key}]` : `${at === 0 ? '' : '.'}${String(key)}`,
  );
  const param = keys.join('').slice(0, 256) || 'body';
  return new AppError('invalid_value', `${param}: ${inWords(message)}`.slice(0, 512), { param });
}

/** Rewrites zod's messages for users. */
function inWords(message: string): string {
  return message.endsWith('received undefined') ? 'is required' : message.replace(/^Invalid input: /, '');
}

/** For a union of text and list: the problem inside the list, if the value is one. */
function deepest(issue: Issue): Pick<Issue, 'path' | 'message'> {
  if (issue.code !== 'invalid_union') return issue;
  const inside = issue.errors.flatMap(([first]) => (first !== undefined && first.path.length > 0 ? [first] : []))[0];
  if (inside === undefined) return issue;
  const { path, message } = deepest(inside);
  return { path: [...issue.path, ...path], message };
}

/** Removes members that are `null`. */
export function withoutNullMembers(members: JsonObject): JsonObject {
  const kept: JsonObject = {};
  for (const key of Object.keys(members)) {
    const value = members[key];
    if (value !== undefined && value !== null && key !== '__proto__') kept[key] = value;
  }
  return kept;
}

/** Bounds a list. Call it before the schema, which checks every element. */
export function refuseTooMany(list: unknown, limit: number, param: string): void {
  if (!Array.isArray(list) || list.length <= limit) return;
  throw param === 'tools' || param === 'functions'
    ? new AppError('too_many_tools', `At most ${limit} tools, got ${list.length}`, { param })
    : new AppError('invalid_value', `At most ${limit} messages, got ${list.length}`, { param });
}
