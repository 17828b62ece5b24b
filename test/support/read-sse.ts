// Reads an event stream as a browser's client would: split on newlines, take the `data: ` lines.

export interface ReadStream {
  status: number;
  headers: Headers;
  /** Parsed `data:` members, `[DONE]` left out. */
  events: Record<string, unknown>[];
  ids: number[];
  done: boolean;
  /** ms from the request to each event. */
  arrivals: number[];
}

export async function postJson(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

export async function readSse(
  response: Response,
  onEvent?: (event: Record<string, unknown>) => void,
): Promise<ReadStream> {
  const began = performance.now();
  const read: ReadStream = {
    status: response.status,
    headers: response.headers,
    events: [],
    ids: [],
    done: false,
    arrivals: [],
  };
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
    rest += decoder.decode(bytes, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      if (line.startsWith('id: ')) read.ids.push(Number(line.slice(4)));
      if (!line.startsWith('data: ')) continue;
      const data = line.slice(6);
      if (data === '[DONE]') {
        read.done = true;
        continue;
      }
      const event = JSON.parse(data) as Record<string, unknown>;
      read.events.push(event);
      read.arrivals.push(performance.now() - began);
      onEvent?.(event);
    }
  }
  return read;
}
