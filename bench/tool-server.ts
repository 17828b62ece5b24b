// An MCP server on standard input and output, made with the SDK, whose one tool does nothing: what is measured is the way.
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

serveStdio(() => {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  server.registerTool(
    'say',
    { description: 'Says it.', inputSchema: z.object({ text: z.string() }), annotations: { readOnlyHint: true } },
    ({ text }) => ({ content: [{ type: 'text', text }] }),
  );
  return server;
});
