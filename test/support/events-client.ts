// The events of a stream of `/api`, as they come.
import type { JsonObject } from '#libs/schemas/json.js';
import { workspaceTools } from './scripts.js';

/** The data of each event; ends with the stream. */
export async function* eventsOf(url: string, body: object, init: RequestInit = {}): AsyncGenerator<JsonObject> {
  const answer = await fetch(`${url}/api/chat/completions`, {
    ...init,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(init.headers as object) },
    body: JSON.stringify({ stream: true, tools: [workspaceTools], ...body }),
  });
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
