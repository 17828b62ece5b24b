// Between HTTP and the protocol's code: a request without its body, which is passed separately, and an answer's stream.
import type { IncomingHttpHeaders } from 'node:http';

export const eventStream = 'text/event-stream';

/** Copies only what the protocol reads. Any `Accept` is valid: the answer is adapted to what the caller accepts. */
export function webRequest(
  { method = 'POST', headers: given }: { method?: string | undefined; headers: IncomingHttpHeaders },
  signal: AbortSignal,
): Request {
  const headers = new Headers({
    accept: method === 'POST' ? `application/json, ${eventStream}` : eventStream,
    ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
  });
  for (const [name, value] of Object.entries(given)) {
    if (name.startsWith('mcp-') && typeof value === 'string') headers.set(name, value);
  }
  const request = new Request('http://localhost/mcp', { method, headers });
  // The constructor would copy the signal, at three times the cost of everything else here, into an object that only full
  // garbage collections free.
  return Object.defineProperty(request, 'signal', { value: signal });
}

/** Passes the pieces of a stream on until it ends or `signal` aborts, which is no error. */
export async function passOn(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  write: (text: string) => Promise<void> | undefined,
): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const cancel = () => void reader.cancel().catch(() => undefined);
  signal.addEventListener('abort', cancel, { once: true });
  if (signal.aborted) cancel();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      await write(decoder.decode(read.value, { stream: true }));
    }
  } finally {
    signal.removeEventListener('abort', cancel);
    cancel();
  }
}
