// Reads the events of a stream as they arrive.
import type { JsonObject } from '#libs/schemas/json.js';
import { workspaceTools } from './scripts.js';

/** Yields the data of each event; ends with the stream. */
export async function* eventsOf(
  url: string,
  path: string,
  body: object,
  init: RequestInit = {},
): AsyncGenerator<JsonObject> {
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream', ...(init.headers as object) };
  const answer = await fetch(`${url}${path}`, { ...init, method: 'POST', headers, body: JSON.stringify(body) });
  let text = '';
  for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const data = /^data: (\{.*\})$/m.exec(text.slice(0, end));
      text = text.slice(end + 2);
      if (data !== null) yield JSON.parse(data[1]!) as JsonObject;
    }
  }
}

/** The events of a turn on `/api` with the workspace tools. */
export const turnEvents = (url: string, body: object, init: RequestInit = {}) =>
  eventsOf(url, '/api/chat/completions', { stream: true, tools: [workspaceTools], ...body }, init);
