// What an authorization server of tests protects: an MCP server that says who its caller is, by the header `x-user`.
import { createMcpHandler, type McpHttpHandler, McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** `calls`: gets who asked for what, by tools, a resource or a prompt. */
export function protectedMcp(calls: { user: string; tool: string }[]): McpHttpHandler {
  const userOf = ({ http }: ServerContext, tool: string) => {
    const user = http?.req?.headers.get('x-user') ?? 'nobody';
    calls.push({ user, tool });
    return user;
  };
  return createMcpHandler(() => {
    const server = new McpServer({ name: 'protected', version: '1' });
    for (const tool of ['whoami', 'write']) {
      server.registerTool(tool, { description: `Is ${tool}`, inputSchema: z.object({}) }, (_input, context) => {
        const user = userOf(context, tool);
        return { content: [{ type: 'text', text: tool === 'write' ? `written by ${user}` : user }] };
      });
    }
    server.registerResource('card', 'doc://card', {}, ({ href }, context) => ({
      contents: [{ uri: href, text: `The card of ${userOf(context, 'card')}` }],
    }));
    server.registerPrompt('greeting', {}, (context) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `Greet ${userOf(context, 'greeting')}` } }],
    }));
    return server;
  });
}
