import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { acceptedContent, inputRequired } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, expect } from 'vitest';
import { z } from 'zod';
import { silentLogger } from '#libs/logging/logger.js';
import { type Answers, askedClients } from '../../test/support/asking-clients.js';
import { verifies } from '../../test/verifies.js';
import { createMcpServer } from './create-mcp-server.js';
import { McpServer, McpTool } from './decorators.js';
import { type HttpServing, serveOverHttp } from './serve-over-http.js';
import type { ToolContext } from './tool-context.js';

@McpServer({ name: 'asks' })
class AskingTools {
  @McpTool({ description: 'Asks for a name, then for a place.', input: z.object({}) })
  greet(_input: object, { inputResponses, requestState, clientCapabilities }: ToolContext) {
    if (clientCapabilities.elicitation === undefined) return 'nobody to ask';
    const [word] = Object.values(acceptedContent(inputResponses, 'word', z.object({ word: z.string() })) ?? {});
    if (word !== undefined && requestState !== undefined) return `${requestState} from ${word}`;
    const message = word === undefined ? 'Who?' : 'Where from?';
    const schema = { type: 'object' as const, properties: { word: { type: 'string' as const } }, required: ['word'] };
    const inputRequests = { word: inputRequired.elicit({ message, requestedSchema: schema }) };
    return inputRequired({ inputRequests, ...(word === undefined ? {} : { requestState: word }) });
  }

  @McpTool({ description: 'Asks whether it can or not.', input: z.object({}) })
  insist(_input: object) {
    return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
  }
}

const server = createMcpServer(new AskingTools(), { logger: silentLogger });
let serving: HttpServing;
beforeAll(async () => {
  serving = await serveOverHttp(server, { logger: silentLogger });
});
afterAll(async () => {
  await serving.close(0);
  await server.close();
});
const origin = () => new URL(serving.url).origin;

for (const [name, connect] of Object.entries(askedClients)) {
  if (name.includes('SSE')) continue;
  verifies('tools.own-server-asks', `${name}: two questions, with what it keeps between them`, async () => {
    const answers: Answers = ({ message }) => ({
      action: 'accept',
      content: { word: message === 'Who?' ? 'Ada' : 'London' },
    });
    const client = await connect(origin(), answers);
    const result = await client.call({ name: 'greet', arguments: {} });
    await client.close();
    expect(result.content).toEqual([{ type: 'text', text: 'Ada from London' }]);
  });
}

verifies(
  'tools.own-server-asks',
  'a changed state is refused, and so is a question that the client does not know',
  async () => {
    const options = { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' as const } };
    const client = new Client({ name: 'test', version: '1' }, { ...options, inputRequired: { autoFulfill: false } });
    await client.connect(new StreamableHTTPClientTransport(new URL(serving.url)));
    const request = (params: object) =>
      client.request({ method: 'tools/call', params: { name: 'greet', arguments: {}, ...params } }, z.looseObject({}), {
        allowInputRequired: true,
      } as object);
    const word = { action: 'accept', content: { word: 'Ada' } };
    const second = await request({ inputResponses: { word } });
    const state = second['requestState'] as string;
    expect(state).not.toBe('Ada');
    await expect(request({ inputResponses: { word }, requestState: `${state}x` })).rejects.toMatchObject({
      code: -32602,
    });
    await expect(request({ name: 'insist', requestState: state })).rejects.toMatchObject({ code: -32602 });
    await expect(client.callTool({ name: 'insist', arguments: {} })).rejects.toMatchObject({ code: -32021 });
    await client.close();
  },
);

verifies('tools.own-server-asks', 'within the process nobody can be asked', async () => {
  const call = { arguments: {}, meta: {}, signal: new AbortController().signal };
  expect(await server.call({ ...call, tool: 'greet' })).toMatchObject({ content: [{ text: 'nobody to ask' }] });
  expect(await server.call({ ...call, tool: 'insist' })).toMatchObject({
    isError: true,
    _meta: { 'signalbox/error_code': 'tool_failed' },
  });
});
