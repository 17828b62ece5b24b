// The result of a call, from the answer of the API: JSON as text and structure, text, pictures, files. An error of HTTP is an error of
// the tool. Secrets that this process knows are struck out of everything that is text.
import { strikeOutKnown } from '#libs/audit/known-secrets.js';
import type { ContentBlock } from '#libs/schemas/content-block.js';
import { isJsonObject, type JsonObject, parseJson } from '#libs/schemas/json.js';
import type { ApiTool } from './api-tool.js';
import { nextPage } from './pages.js';
import { clipped } from './schema-writer.js';
import { isJsonType } from './body-of-operation.js';

export interface ApiAnswer {
  status: number;
  headers: Headers;
  body: Buffer;
  /** What was asked for. */
  url: URL;
}

/** Keeps the bytes in the session's workspace. Resolves with the path as its tools know it. @throws AppError */
export type KeepFile = (name: string, bytes: Buffer) => Promise<string>;

export interface ApiResult {
  content: ContentBlock[];
  structuredContent?: JsonObject;
  isError?: true;
}

const longestError = 4_000;
const longestAddress = 1_000;
/** A number in JSON that loses digits when it is parsed, as 64-bit ids do. */
const longNumber = /[[:,]\s*-?\d{16,}\s*[,}\]]/;

/** @throws AppError of `keepFile` */
export async function resultOfAnswer(tool: ApiTool, answer: ApiAnswer, keepFile: KeepFile): Promise<ApiResult> {
  const { status, headers, body } = answer;
  if (status >= 300) return failure(answer);
  if (body.length === 0) {
    const made = strikeOutKnown(clipped(headers.get('location') ?? '', longestAddress));
    return { content: [text(`HTTP ${status}, without content${made === '' ? '' : `; Location: ${made}`}`)] };
  }
  const type = headers.get('content-type') ?? '';
  const isPicture = /^(?:image|audio)\//i.test(type) && !/^image\/svg/i.test(type);
  if (isPicture) {
    const [mimeType = ''] = type.split(';');
    const kind = /^image/i.test(type) ? ('image' as const) : ('audio' as const);
    return { content: [{ type: kind, data: body.toString('base64'), mimeType: mimeType.trim().toLowerCase() }] };
  }
  const shown = textOf(body, type);
  if (shown === undefined) return { content: [text(await kept(tool, answer, keepFile))] };
  const json = isJsonType(type) || type === '' ? parseJson(shown) : undefined;
  if (json === undefined) return { content: [text(shown)] };
  const next = nextPage(tool, { ...answer, body: json });
  const isWhole = !longNumber.test(shown);
  return {
    content: [
      ...(next === undefined ? [] : [text(strikeOutKnown(next))]),
      text(isWhole ? JSON.stringify(json) : shown),
    ],
    ...(isWhole && isJsonObject(json) ? { structuredContent: json } : {}),
  };
}

const text = (of: string): ContentBlock => ({ type: 'text', text: of });

function failure({ status, headers, body }: ApiAnswer): ApiResult {
  const leads = status < 400 ? strikeOutKnown(headers.get('location') ?? '') : '';
  const said = textOf(body, headers.get('content-type') ?? '') ?? `${body.length} bytes`;
  const lines = [
    `HTTP ${status}${leads === '' ? '' : `, which leads to ${clipped(leads, longestAddress)} and is not followed`}`,
    ...(headers.has('retry-after') ? [`Retry-After: ${clipped(headers.get('retry-after')!, 100)}`] : []),
    clipped(said.trim(), longestError),
  ];
  return { content: [text(lines.filter((line) => line !== '').join('\n'))], isError: true };
}

/** Undefined: it is no text. */
function textOf(body: Buffer, type: string): string | undefined {
  const charset = /;\s*charset="?([\w-]+)/i.exec(type)?.[1];
  const isText =
    charset !== undefined ||
    type === '' ||
    isJsonType(type) ||
    /^text\/|[/+](?:xml|yaml|x-yaml|csv|javascript|x-ndjson|x-www-form-urlencoded)\b/i.test(type);
  if (!isText) return undefined;
  try {
    return strikeOutKnown(new TextDecoder(charset ?? 'utf-8', { fatal: type === '' }).decode(body));
  } catch {
    return undefined;
  }
}

async function kept({ definition }: ApiTool, { headers, body }: ApiAnswer, keepFile: KeepFile): Promise<string> {
  const type = headers.get('content-type')?.split(';')[0] ?? 'unknown type';
  const named = /filename="?([^";]+)/i.exec(headers.get('content-disposition') ?? '')?.[1] ?? definition.name;
  const name =
    named
      .replaceAll(/[^A-Za-z0-9._-]+/g, '_')
      .replace(/^\.+/, '')
      .slice(-100) || definition.name;
  return `[${clipped(type, 100)}, ${body.length} bytes, saved as ${await keepFile(name, body)}]`;
}
