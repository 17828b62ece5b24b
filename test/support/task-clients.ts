// The official MCP clients that call tools as tasks, in the form of 2025-11-25, behind one interface; and the form since 2026-07-28, whose
// methods no official client has yet, written by hand over the official transport.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateTaskResultSchema,
  ElicitRequestSchema,
  ResultSchema,
  TaskStatusNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { Answered, Asked } from './asking-clients.js';
import { addressOf, type CallResult } from './mcp-clients.js';

export interface Task {
  taskId: string;
  status: string;
  statusMessage?: string;
  createdAt: string;
  lastUpdatedAt: string;
  ttl: number;
  pollInterval: number;
}

export interface TaskOptions {
  key?: string;
  /** Absent: the client cannot be asked. `meta`: `_meta` of the question. */
  answers?: (asked: Asked, meta: unknown) => Answered | Promise<Answered>;
  onStatus?: (task: Task) => void;
}

export interface TaskClient {
  request(method: string, params?: object): Promise<Record<string, unknown>>;
  begin(name: string, args?: object, task?: object): Promise<Task>;
  get(taskId: string): Promise<Task>;
  result(taskId: string): Promise<CallResult>;
  cancel(taskId: string): Promise<Task>;
  close(): Promise<void>;
}

const identity = { name: 'judge', version: '1' };
const capabilities = { elicitation: { form: {}, url: {} } };
const initOf = (key: string | undefined) =>
  key === undefined ? {} : { requestInit: { headers: { authorization: `Bearer ${key}` } } };

/** What both SDKs leave to their users is the same. */
const clientOf = (
  request: TaskClient['request'],
  begin: (params: object) => Promise<{ task: unknown }>,
  close: () => Promise<void>,
): TaskClient => ({
  request,
  begin: async (name, args = {}, task = {}) => (await begin({ name, arguments: args, task })).task as Task,
  get: async (taskId) => (await request('tasks/get', { taskId })) as unknown as Task,
  result: (taskId) => request('tasks/result', { taskId }),
  cancel: async (taskId) => (await request('tasks/cancel', { taskId })) as unknown as Task,
  close,
});

async function legacyClient(url: string, { key, answers, onStatus }: TaskOptions = {}): Promise<TaskClient> {
  const client = new Client(identity, {
    versionNegotiation: { mode: 'legacy' },
    ...(answers === undefined ? {} : { capabilities }),
  });
  if (answers !== undefined) {
    client.setRequestHandler('elicitation/create', ({ params }) => answers(params as Asked, params._meta));
  }
  if (onStatus !== undefined) {
    const params = z.looseObject({});
    client.setNotificationHandler('notifications/tasks/status', { params }, (task) =>
      onStatus(task as unknown as Task),
    );
  }
  await client.connect(new StreamableHTTPClientTransport(addressOf(url, '/mcp'), initOf(key)));
  const request = (method: string, params: object = {}) =>
    client.request({ method, params: { ...params } }, z.looseObject({}));
  return clientOf(
    request,
    async (params) => (await request('tools/call', params)) as { task: unknown },
    () => client.close(),
  );
}

export async function oldSdkClient(
  url: string,
  { key, answers, onStatus }: TaskOptions = {},
  kind: 'http' | 'sse' = 'http',
): Promise<OldClient> {
  const client = new OldClient(identity, answers === undefined ? {} : { capabilities });
  if (answers !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => answers(params as Asked, params._meta));
  }
  if (onStatus !== undefined) {
    client.setNotificationHandler(TaskStatusNotificationSchema, ({ params }) => onStatus(params as unknown as Task));
  }
  const transport =
    kind === 'sse'
      ? new SSEClientTransport(addressOf(url, '/sse'), initOf(key))
      : new OldTransport(addressOf(url, '/mcp'), initOf(key));
  await client.connect(transport);
  return client;
}

const oldClient =
  (kind: 'http' | 'sse') =>
  async (url: string, options: TaskOptions = {}): Promise<TaskClient> => {
    const client = await oldSdkClient(url, options, kind);
    return clientOf(
      (method, params = {}) => client.request({ method, params: { ...params } }, ResultSchema),
      (params) => client.request({ method: 'tools/call', params: params as never }, CreateTaskResultSchema),
      () => client.close(),
    );
  };

export const taskClients = {
  'the 2.x client, as before 2026': legacyClient,
  'the 1.x client': oldClient('http'),
  'the 1.x client, HTTP+SSE': oldClient('sse'),
};

export interface ModernAnswer {
  status: number;
  result: Record<string, unknown>;
  error: { code: number; message: string; data?: object };
}

/** A request of 2026-07-28; `capabilities` are those of its client. */
export async function askModern(
  url: string,
  method: string,
  params: Record<string, unknown>,
  { capabilities: given = { extensions: { 'io.modelcontextprotocol/tasks': {} } }, signal }: ModernOptions = {},
): Promise<ModernAnswer> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': identity,
    'io.modelcontextprotocol/clientCapabilities': given,
  };
  const name = params['taskId'] ?? params['name'];
  const answer = await fetch(addressOf(url, '/mcp'), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
    ...(signal === undefined ? {} : { signal }),
  });
  return { status: answer.status, ...((await answer.json()) as Omit<ModernAnswer, 'status'>) };
}

export interface ModernOptions {
  capabilities?: object;
  signal?: AbortSignal;
}
