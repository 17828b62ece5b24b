// Streamable HTTP that tells arguments in headers where a tool of 2026-07-28 wants it. Learns what is wanted from the
// lists that pass by, and asks for one itself when a server says that headers are missing.
import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  PROTOCOL_VERSION_META_KEY,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import { isJsonObject } from '#libs/schemas/json.js';
import { declaredHeaders, headersOf, type ParamHeader } from './param-headers.js';

const headerMismatch = -32_020;
/** Pages of a list that is asked for here. */
const maxPages = 100;
const maxTools = 10_000;

interface OpenCall {
  request: JSONRPCRequest;
  options: TransportSendOptions | undefined;
}

/** The transport itself, listening in. */
export function withParamHeaders<T extends Transport>(transport: T): T {
  const declared = new Map<string, readonly ParamHeader[]>();
  const calls = new Map<string | number, OpenCall>();
  const lists = new Set<string | number>();
  const learning = new Map<string, (message: JSONRPCMessage) => void>();
  let asked = 0;
  const send = transport.send.bind(transport);

  const learn = (tools: unknown[]) =>
    tools.filter((tool) => {
      if (!isJsonObject(tool) || typeof tool['name'] !== 'string') return true;
      const headers = declaredHeaders(tool['inputSchema']);
      if (headers === undefined || headers.length === 0) declared.delete(tool['name']);
      else if (declared.size < maxTools) declared.set(tool['name'], headers);
      return headers !== undefined;
    });

  const call = ({ request, options }: OpenCall) => {
    const { name, arguments: args } = request.params as { name: string; arguments?: unknown };
    const headers = headersOf(declared.get(name) ?? [], args);
    return send(request, { ...options, headers: { ...options?.headers, ...headers } });
  };

  /** The tools as they are now, by requests that only we see the answers of. */
  const relist = async ({ request, options }: OpenCall) => {
    let cursor: unknown;
    for (let page = 0; page < maxPages; page += 1) {
      const id = `headers:${++asked}`;
      const answered = new Promise<JSONRPCMessage>((resolve) => learning.set(id, resolve));
      const params = { _meta: request.params?._meta, ...(cursor === undefined ? {} : { cursor }) };
      try {
        await send(
          { jsonrpc: '2.0', id, method: 'tools/list', params },
          {
            ...(options?.requestSignal === undefined ? {} : { requestSignal: options.requestSignal }),
            onRequestStreamEnd: () => learning.get(id)?.({ jsonrpc: '2.0', id, result: {} }),
          },
        );
        const answer = await answered;
        const result: Record<string, unknown> = isJSONRPCResultResponse(answer) ? answer.result : {};
        if (Array.isArray(result['tools'])) learn(result['tools']);
        cursor = result['nextCursor'];
      } finally {
        learning.delete(id);
      }
      if (typeof cursor !== 'string') return;
    }
  };

  transport.send = (message, options) => {
    if (!isJSONRPCRequest(message) || message.params?._meta?.[PROTOCOL_VERSION_META_KEY] === undefined) {
      return send(message, options);
    }
    const forget = () => void (calls.delete(message.id) || lists.delete(message.id));
    options?.requestSignal?.addEventListener('abort', forget, { once: true });
    if (message.method === 'tools/list') lists.add(message.id);
    if (message.method !== 'tools/call') return send(message, options);
    const opened = { request: message, options };
    calls.set(message.id, opened);
    return call(opened).catch((error: unknown) => {
      forget();
      throw error;
    });
  };

  let listener: Transport['onmessage'];
  Object.defineProperty(transport, 'onmessage', {
    // Whoever asks before there is one must not get ours, and call it in turn.
    get: () => (listener === undefined ? undefined : heard),
    set: (given: Transport['onmessage']) => {
      listener = given;
    },
  });
  const heard: NonNullable<Transport['onmessage']> = (message, extra) => {
    const answers = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
    if (!answers || message.id === undefined) return listener?.(message, extra);
    const waiting = typeof message.id === 'string' ? learning.get(message.id) : undefined;
    if (waiting !== undefined) return waiting(message);
    const opened = calls.get(message.id);
    calls.delete(message.id);
    if (isJSONRPCErrorResponse(message) && message.error.code === headerMismatch && opened !== undefined) {
      // Refused before anything ran: once more, with what it wants now. A second refusal goes to the caller.
      relist(opened)
        .then(() => call(opened))
        .catch(() => listener?.(message, extra));
      return;
    }
    if (lists.delete(message.id) && isJSONRPCResultResponse(message) && Array.isArray(message.result['tools'])) {
      const tools = learn(message.result['tools']);
      return listener?.({ ...message, result: { ...message.result, tools } }, extra);
    }
    listener?.(message, extra);
  };
  return transport;
}
