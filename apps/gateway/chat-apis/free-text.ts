// Offers tools of free text (`custom` in OpenAI's APIs) to models that know only functions: the text is the one argument of a
// function. The tool, not this file, checks the text against its grammar.
import { AppError } from '#libs/schemas/errors.js';
import { parseJsonObject } from '#libs/schemas/json.js';
import type { Config } from '#libs/config/schema.js';
import type { RequestedTool } from '../turn/turn-request.js';
import { readFunction } from './read-tools.js';

export interface GivenCustomTool {
  name: string;
  description?: string | null | undefined;
  /** The grammar that the text must match; absent: any text. */
  grammar?: { syntax: string; definition: string } | undefined;
}

/** `param`: the path of the tool in the request. @throws AppError reserved_name, invalid_value */
export function readCustomTool(given: GivenCustomTool, param: string, limits: Config['limits']): RequestedTool {
  const { name, description, grammar } = given;
  if (grammar !== undefined && Buffer.byteLength(grammar.definition) > limits.tool_schema_bytes) {
    const message = `A grammar may have at most ${limits.tool_schema_bytes} bytes`;
    throw new AppError('invalid_value', message, { param });
  }
  const sentences = [
    description ?? '',
    grammar === undefined ? '' : `The input must match this ${grammar.syntax} grammar:\n${grammar.definition}`,
  ].filter((text) => text !== '');
  const parameters = {
    type: 'object',
    properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text' } },
    required: ['input'],
    additionalProperties: false,
  };
  const tool = readFunction(
    { name, description: sentences.join('\n\n'), parameters },
    { name: `${param}.name`, parameters: param },
    limits,
  );
  return { ...tool, form: { name, custom: true } } as RequestedTool;
}

export const toArguments = (input: string): string => JSON.stringify({ input });

/** The text in a model's arguments; some models rename the argument, or send plain text. */
export function textOf(args: string): string {
  const given = parseJsonObject(args);
  if (given === undefined) return args;
  if (typeof given['input'] === 'string') return given['input'];
  const [only, ...others] = Object.values(given);
  return typeof only === 'string' && others.length === 0 ? only : args;
}

/** Reads the text while its arguments arrive. */
export class StreamedText {
  private json = '';
  /** Index in `json` of the text's next character; undefined before the opening quote. */
  private at: number | undefined;
  private closed = false;
  private emitted = '';

  /** Returns the new part of the text. */
  add(piece: string): string {
    this.json += piece;
    this.at ??= /^\s*\{\s*"input"\s*:\s*"/.exec(this.json)?.[0].length;
    if (this.at === undefined || this.closed) return '';
    complete.lastIndex = this.at;
    const more = complete.exec(this.json)?.[0] ?? '';
    this.at += more.length;
    this.closed = this.json[this.at] === '"';
    const text = more.replace(/\\(?:u[0-9a-f]{4}|.)/gis, unescaped);
    this.emitted += text;
    return text;
  }

  /** The rest of the text, after the last piece. */
  end(): string {
    if (this.closed) return '';
    const whole = textOf(this.json);
    return whole.startsWith(this.emitted) ? whole.slice(this.emitted.length) : '';
  }
}

/** Text of a JSON string up to its end, or to an escape that is not complete yet. */
const complete = /(?:[^"\\]+|\\u[0-9a-f]{4}|\\[^u])+/iy;

const escapes: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

const unescaped = (escape: string): string =>
  escape.length > 2 ? String.fromCharCode(Number.parseInt(escape.slice(2), 16)) : (escapes[escape[1]!] ?? escape[1]!);
