// The HTTP request of a call. Arguments are encoded, and none can change where the request goes: what a server or a proxy could read as
// another path is refused.
import { AppError } from '#libs/schemas/errors.js';
import type { Json, JsonObject } from '#libs/schemas/json.js';
import type { ApiParameter, ApiTool } from './api-tool.js';
import { encodeBody, type ReadFile } from './encode-body.js';
import { encodedPairs, encodedSegment, headerText, plainText } from './encode-parameter.js';

export interface OperationRequest {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body?: string | Uint8Array;
}

/** @param baseUrl may have a query, which is part of every request. @throws AppError invalid_tool_arguments, and those of `readFile` */
export async function requestOfCall(
  tool: ApiTool,
  args: JsonObject,
  { baseUrl, readFile }: { baseUrl: string; readFile: ReadFile },
): Promise<OperationRequest> {
  const given = tool.parameters.flatMap((parameter) => {
    const value = Object.hasOwn(args, parameter.argument) ? args[parameter.argument] : undefined;
    return value === undefined || value === null ? [] : [{ parameter, value: ready(parameter, value) }];
  });
  const of = (place: ApiParameter['place']) => given.filter(({ parameter }) => parameter.place === place);
  const headers: Record<string, string> = {};
  for (const { parameter, value } of of('header'))
    headers[parameter.name.toLowerCase()] = headerValue(parameter, headerText(parameter, value));
  const cookies = of('cookie').flatMap(({ parameter, value }) => encodedPairs(parameter, value));
  if (cookies.length > 0) headers['cookie'] = cookies.join('; ');
  const pairs = of('query').flatMap(({ parameter, value }) => encodedPairs(parameter, value));
  const url = urlOf(baseUrl, pathOf(tool, of('path')), pairs);
  const { body } = tool;
  const sent = body !== undefined && Object.hasOwn(args, body.argument) ? args[body.argument] : undefined;
  if (body === undefined || sent === undefined) return { method: tool.method, url, headers };
  const { bytes, contentType } = await encodeBody(body, sent, readFile);
  return { method: tool.method, url, headers: { ...headers, 'content-type': contentType }, body: bytes };
}

const ready = ({ isJson }: ApiParameter, value: Json): Json => (isJson ? JSON.stringify(value) : value);

function urlOf(baseUrl: string, path: string, pairs: readonly string[]): URL {
  const { origin, pathname, search } = new URL(baseUrl);
  const [bare = '', ownQuery = ''] = path.split('?');
  const query = [search.slice(1), ownQuery, ...pairs].filter((part) => part !== '').join('&');
  return new URL(`${origin}${pathname.replace(/\/+$/, '')}${bare}${query === '' ? '' : `?${query}`}`);
}

function pathOf({ path }: ApiTool, given: readonly { parameter: ApiParameter; value: Json }[]): string {
  const filled = path.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const found = given.find(({ parameter }) => parameter.name === name);
    if (found === undefined)
      throw new AppError('invalid_tool_arguments', `The argument '${name.slice(0, 100)}' is missing`);
    refuseSteps(found.parameter.argument, found.value);
    return encodedSegment(found.parameter, found.value);
  });
  // Several arguments may make one segment.
  if (filled.split('?')[0]!.split('/').some(isStep))
    throw new AppError('invalid_tool_arguments', 'The arguments of the path lead to another path');
  return filled;
}

/** A proxy may decode a path before it reads it, and some do so twice. */
function refuseSteps(argument: string, value: Json): void {
  const texts =
    typeof value === 'object' && value !== null
      ? Object.entries(value)
          .flat()
          .map((each) => plainText(each))
      : [plainText(value)];
  const isWrong = texts.some((text) => text === '' || decodings(text).some((each) => each.split(/[/\\]/).some(isStep)));
  if (isWrong)
    throw new AppError(
      'invalid_tool_arguments',
      `${argument} must not be empty, and have no '.' or '..' as a part of a path`,
    );
}

const isStep = (segment: string) => /^(?:\.|%2e){1,2}$/i.test(segment);

function decodings(text: string): string[] {
  const found = [text];
  for (let times = 0; times < 3; times += 1) {
    try {
      found.push(decodeURIComponent(found.at(-1)!));
    } catch {
      break;
    }
  }
  return found;
}

function headerValue({ argument }: ApiParameter, text: string): string {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) return text.trim();
  throw new AppError('invalid_tool_arguments', `${argument} has characters that no header can have`);
}
