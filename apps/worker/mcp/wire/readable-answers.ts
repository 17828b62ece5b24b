// Between a server's HTTP answers and the SDK's transports, whose schemas are strict: what they would refuse is rewritten as
// readMessage reads it. Everything else passes as it came, a large event without being looked into.
import { isSpecType } from '@modelcontextprotocol/client';
import { isJsonObject } from '#libs/schemas/json.js';
import { carriageReturn, newline, position } from './event-lines.js';
import { type Id, readMessage } from './read-message.js';

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** An event above this is only read if one of the members that would be refused is in it. */
const maxReadBytes = 256 * 1024;
const refusedMembers = /"(?:_meta|error|id|params|jsonrpc)"\s*:\s*null/;

export function readableAnswers(fetch: Fetch): Fetch {
  return async (url, init) => {
    const answer = await fetch(url, init);
    const type = answer.headers.get('content-type') ?? '';
    if (!answer.ok || answer.body === null) return answer;
    if (/^application\/json\b/i.test(type)) {
      const json = async () => {
        const value: unknown = JSON.parse(await answer.text());
        return Array.isArray(value) ? value.map((each) => readable(each, init)) : readable(value, init);
      };
      return Object.assign(answer, { json });
    }
    if (!/^text\/event-stream\b/i.test(type)) return answer;
    const body = answer.body.pipeThrough(readableEvents((event) => rewritten(event, init)));
    return new Response(body, { status: answer.status, headers: answer.headers });
  };
}

const readable = (value: unknown, init: RequestInit | undefined): unknown =>
  isSpecType.JSONRPCMessage(value) && !isWithoutId(value) ? value : (readMessage(value, askedId(init)) ?? value);

/** Its answer is told by the request that it came for. */
const isWithoutId = (value: object): boolean => !('id' in value) && !('method' in value);

/** Of the request in a POST. */
function askedId({ body }: RequestInit = {}): Id | undefined {
  const asked: unknown = typeof body === 'string' ? JSON.parse(body) : undefined;
  const id = isJsonObject(asked) && 'method' in asked ? asked['id'] : undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

/** Undefined: it passes as it is. */
function rewritten(event: Buffer, init: RequestInit | undefined): string | undefined {
  if (event.length > maxReadBytes && !(event.includes('null') && refusedMembers.test(event.toString())))
    return undefined;
  const lines = event.toString().split(/\r\n|\r|\n/);
  const data = lines.filter(isData).map((line) => line.replace(/^data:? ?/, ''));
  let value: unknown;
  try {
    value = JSON.parse(data.join('\n'));
  } catch {
    return undefined;
  }
  const read = readable(value, init);
  if (read === value) return undefined;
  return [...lines.filter((line) => line !== '' && !isData(line)), `data: ${JSON.stringify(read)}`, '', ''].join('\n');
}

const isData = (line: string): boolean => /^data(?::|$)/.test(line);

/** Their size was bounded before. */
function readableEvents(rewrite: (event: Buffer) => string | undefined): TransformStream<Uint8Array, Uint8Array> {
  let parts: Buffer[] = [];
  let [isLineEmpty, afterReturn] = [true, false];
  return new TransformStream({
    transform(bytes, controller) {
      const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      let [begin, nextNewline, nextReturn] = [0, -1, -1];
      for (let at = 0; at < chunk.length;) {
        if (nextNewline < at) nextNewline = position(chunk, newline, at);
        if (nextReturn < at) nextReturn = position(chunk, carriageReturn, at);
        const end = Math.min(nextNewline, nextReturn);
        if (end > at) [isLineEmpty, afterReturn] = [false, false];
        if (end === chunk.length) break;
        const isSameEnd = chunk[end] === newline && afterReturn;
        afterReturn = chunk[end] === carriageReturn;
        at = end + 1;
        if (isSameEnd) {
          // The end of the event before: its reader waits for it.
          if (parts.length === 0 && begin === end) {
            controller.enqueue(chunk.subarray(begin, at));
            begin = at;
          }
          continue;
        }
        if (isLineEmpty) {
          const event = Buffer.concat([...parts, chunk.subarray(begin, at)]);
          controller.enqueue(Buffer.from(rewrite(event) ?? event));
          [parts, begin] = [[], at];
        }
        isLineEmpty = true;
      }
      if (begin < chunk.length) parts.push(chunk.subarray(begin));
    },
    flush: (controller) => controller.enqueue(Buffer.concat(parts)),
  });
}
