// The resources and prompts that the official conformance suites ask for by name, as a tool server on the SDK has them.
import { completable, McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { type ServedSdkServer, serveSdkServer } from '../support/serve-sdk-server.js';

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const said = (text: string) => ({ role: 'user' as const, content: { type: 'text' as const, text } });

function newServer(): McpServer {
  const server = new McpServer(
    { name: 'offers', version: '1' },
    { capabilities: { logging: {}, resources: { subscribe: true } } },
  );
  const text = (name: string, uri: string, content: string) =>
    server.registerResource(name, uri, { mimeType: 'text/plain', description: name }, async () => ({
      contents: [{ uri, mimeType: 'text/plain', text: content }],
    }));
  text('Static text', 'test://static-text', 'This is the content of the static text resource.');
  text('Watched', 'test://watched-resource', 'Watched resource content');
  server.registerResource('Static binary', 'test://static-binary', { mimeType: 'image/png' }, async () => ({
    contents: [{ uri: 'test://static-binary', mimeType: 'image/png', blob: png }],
  }));
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined });
  server.registerResource('Template', template, { mimeType: 'application/json' }, async (uri, { id }) => ({
    contents: [
      { uri: uri.href, mimeType: 'application/json', text: JSON.stringify({ id, data: `Data of ${String(id)}` }) },
    ],
  }));
  server.registerPrompt('test_simple_prompt', { description: 'A simple prompt' }, async () => ({
    messages: [said('This is a simple prompt for testing.')],
  }));
  const complete = (value: string) => ['test', 'testing', 'tested'].filter((each) => each.startsWith(value));
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'A prompt with arguments',
      argsSchema: z.object({ arg1: completable(z.string().describe('The first'), complete), arg2: z.string() }),
    },
    async ({ arg1, arg2 }) => ({ messages: [said(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)] }),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'A prompt with a resource', argsSchema: z.object({ resourceUri: z.string() }) },
    async ({ resourceUri: uri }) => ({
      messages: [
        { role: 'user', content: { type: 'resource', resource: { uri, mimeType: 'text/plain', text: 'Embedded.' } } },
        said('Please process the embedded resource above.'),
      ],
    }),
  );
  server.registerPrompt('test_prompt_with_image', { description: 'A prompt with a picture' }, async () => ({
    messages: [
      { role: 'user', content: { type: 'image', data: png, mimeType: 'image/png' } },
      said('Please analyze the image above.'),
    ],
  }));
  server.registerTool(
    'test_tool_with_logging',
    { description: 'Logs.', inputSchema: z.object({}) },
    async (_args, { mcpReq }) => {
      for (const step of ['started', 'processing data', 'completed'])
        await mcpReq.log('info', `Tool execution ${step}`);
      return { content: [{ type: 'text', text: 'Tool with logging executed successfully' }] };
    },
  );
  return server;
}

export const serveConformanceOffers = (): Promise<ServedSdkServer> => serveSdkServer(newServer);
