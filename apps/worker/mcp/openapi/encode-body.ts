// The body of a request, from the argument of a call: JSON, a form, or a file.
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { ApiBody } from './api-tool.js';
import { encodedPairs, plainText } from './encode-parameter.js';

export interface SentFile {
  name: string;
  bytes: Uint8Array;
  mediaType?: string;
}

/** Opens a file of the session. @throws AppError */
export type ReadFile = (path: string) => Promise<SentFile>;

export interface EncodedBody {
  bytes: string | Uint8Array;
  contentType: string;
}

/** @throws AppError invalid_tool_arguments, and those of `readFile` */
export async function encodeBody(body: ApiBody, value: Json, readFile: ReadFile): Promise<EncodedBody> {
  switch (body.kind) {
    case 'json':
      return { bytes: JSON.stringify(value), contentType: body.mediaType };
    case 'text':
      return { bytes: plainText(value), contentType: body.mediaType };
    case 'form':
      return { bytes: formText(body, membersOf(body, value)), contentType: 'application/x-www-form-urlencoded' };
    case 'file': {
      const { bytes, mediaType } = await fileOf(value, readFile);
      return { bytes, contentType: isExact(body.mediaType) ? body.mediaType : (mediaType ?? body.mediaType) };
    }
    case 'multipart':
      return multipart(body, membersOf(body, value), readFile);
  }
}

const isExact = (mediaType: string) => mediaType !== 'application/octet-stream';

function membersOf({ argument }: ApiBody, value: Json): JsonObject {
  if (isJsonObject(value)) return value;
  throw new AppError('invalid_tool_arguments', `${argument} must be an object: it is sent as a form`);
}

function formText({ encodings }: ApiBody, members: JsonObject): string {
  const pairs = Object.entries(members).flatMap(([name, value]) => {
    const { contentType, style, explode = true } = encodings[name] ?? {};
    if (contentType !== undefined && /json/i.test(contentType) && typeof value === 'object')
      return encodedPairs({ name, style: 'form', explode }, JSON.stringify(value));
    // Without a style, an object keeps its name, as servers that read forms expect.
    const usual = isNested(value) ? 'deepObject' : 'form';
    return encodedPairs({ name, style: style ?? usual, explode }, value);
  });
  return pairs.join('&');
}

const isNested = (value: Json): boolean =>
  isJsonObject(value) || (Array.isArray(value) && value.some((each) => typeof each === 'object' && each !== null));

async function multipart({ files, encodings }: ApiBody, members: JsonObject, readFile: ReadFile): Promise<EncodedBody> {
  const form = new FormData();
  for (const [name, value] of Object.entries(members)) {
    if (value === null) continue;
    const type = encodings[name]?.contentType;
    if (files.includes(name)) {
      for (const each of [value].flat()) {
        const file = await fileOf(each, readFile);
        const named = type !== undefined && /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : undefined;
        form.append(name, new Blob([Buffer.from(file.bytes)], { type: named ?? file.mediaType ?? '' }), file.name);
      }
    } else if (isNested(value) || (type !== undefined && /json/i.test(type))) {
      form.append(name, new Blob([JSON.stringify(value)], { type: 'application/json' }));
    } else for (const each of [value].flat()) form.append(name, plainText(each));
  }
  // It writes the form, with a boundary that is nowhere in it.
  const written = new Response(form);
  return { contentType: written.headers.get('content-type')!, bytes: new Uint8Array(await written.arrayBuffer()) };
}

const dataUrl = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[\w-]+=[^;,]*)*;base64,([A-Za-z0-9+/]*={0,2})$/;

async function fileOf(value: Json, readFile: ReadFile): Promise<SentFile> {
  if (typeof value !== 'string' || value === '')
    throw new AppError('invalid_tool_arguments', 'A file is given as its path in the workspace, or as a data: URL');
  if (!value.startsWith('data:')) return readFile(value);
  const [, mediaType, data] = dataUrl.exec(value) ?? [];
  if (data === undefined)
    throw new AppError('invalid_tool_arguments', 'A data: URL must be of the form data:TYPE;base64,DATA');
  return { name: 'file', bytes: Buffer.from(data, 'base64'), ...(mediaType === undefined ? {} : { mediaType }) };
}
