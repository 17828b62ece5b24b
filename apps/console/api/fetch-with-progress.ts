// `fetch` for a body of which one wants to know how much has been sent. Only XMLHttpRequest tells.
export function fetchWithProgress(
  input: string,
  { method = 'GET', headers, body, signal }: RequestInit,
  onSent: (bytes: number) => void,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const leave = () => request.abort();
    request.open(method, input);
    new Headers(headers).forEach((value, name) => request.setRequestHeader(name, value));
    request.upload.addEventListener('progress', ({ loaded }) => onSent(loaded));
    request.addEventListener('loadend', () => signal?.removeEventListener('abort', leave));
    request.addEventListener('load', () => resolve(answerOf(request)));
    request.addEventListener('error', () => reject(new TypeError('The request could not be sent')));
    request.addEventListener('abort', () => reject(new DOMException('The request was aborted', 'AbortError')));
    signal?.addEventListener('abort', leave, { once: true });
    if (signal?.aborted === true) return reject(signal.reason as Error);
    request.send(body as XMLHttpRequestBodyInit | null);
  });
}

function answerOf(request: XMLHttpRequest): Response {
  const headers = new Headers();
  for (const name of ['x-request-id', 'retry-after']) {
    const value = request.getResponseHeader(name);
    if (value !== null) headers.set(name, value);
  }
  return new Response(request.status === 204 ? null : request.responseText, { status: request.status, headers });
}
