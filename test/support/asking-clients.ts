// The official MCP clients with a user who answers questions: both eras, every transport, and through the bridge.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { addressOf, bridge, type CallOptions, type CallResult } from './mcp-clients.js';

export interface Asked {
  message: string;
  requestedSchema: object;
}

export type Answered = {
  action: 'accept' | 'decline' | 'cancel';
  content?: Record<string, string | number | boolean | string[]>;
};

/** `signal` aborts if the server withdraws its question. */
export type Answers = (asked: Asked, signal: AbortSignal) => Answered | Promise<Answered>;

export interface AskedCaller {
  call(params: { name: string; arguments?: object; _meta?: object }, options?: CallOptions): Promise<CallResult>;
  read(uri: string): Promise<{ contents: object[] }>;
  prompt(name: string): Promise<{ messages: object[] }>;
  close(): Promise<void>;
}

const identity = { name: 'asked', version: '1' };
const capabilities = { elicitation: { form: {} } };

function newClient(mode: 'auto' | 'legacy', through: 'http' | 'bridge') {
  return async (url: string, answers: Answers): Promise<AskedCaller> => {
    const client = new Client(identity, { capabilities, versionNegotiation: { mode } });
    client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) => answers(params as Asked, mcpReq.signal));
    const address = addressOf(url, '/mcp');
    await client.connect(
      through === 'http'
        ? new StreamableHTTPClientTransport(address)
        : new StdioClientTransport({ command: process.execPath, args: [bridge, address.href] }),
    );
    return {
      call: (params, options) => client.callTool(params as never, options),
      read: (uri) => client.readResource({ uri }),
      prompt: (name) => client.getPrompt({ name }),
      close: () => client.close(),
    };
  };
}

function oldClient(kind: 'http' | 'sse') {
  return async (url: string, answers: Answers): Promise<AskedCaller> => {
    const client = new OldClient(identity, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, ({ params }, { signal }) => answers(params as Asked, signal));
    await client.connect(
      kind === 'sse' ? new SSEClientTransport(addressOf(url, '/sse')) : new OldTransport(addressOf(url, '/mcp')),
    );
    return {
      call: (params, options) => client.callTool(params as never, CallToolResultSchema, options),
      read: (uri) => client.readResource({ uri }),
      prompt: (name) => client.getPrompt({ name }),
      close: () => client.close(),
    };
  };
}

export const askedClients = {
  'the 2.x client, 2026-07-28': newClient('auto', 'http'),
  'the 2.x client, as before 2026': newClient('legacy', 'http'),
  'the 1.x client': oldClient('http'),
  'the 1.x client, HTTP+SSE': oldClient('sse'),
};

export const askedBridges = {
  'the bridge, 2026-07-28': newClient('auto', 'bridge'),
  'the bridge, as before 2026': newClient('legacy', 'bridge'),
};

/** Clients that answer by repeating their call: a question cannot be withdrawn from them. */
export const comesBack = (name: string): boolean => name.endsWith('2026-07-28');
