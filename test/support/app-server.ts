// A tool server with apps, on the SDK's own server: a dashboard whose page no list has, a tool for apps only, and results with
// structured content and `_meta`.
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { appMimeType } from '#libs/mcp-server/tool-app.js';
import { serveSdkServer } from './serve-sdk-server.js';

export interface AppServer {
  url: string;
  /** The extensions that the client of a call of `sales` declared. */
  declared: unknown[];
  /** How often `refresh` ran. */
  refreshed: number;
  close(): Promise<void>;
}

export const appPage = 'ui://sales/board';
export const appPageMeta = {
  ui: {
    csp: { connectDomains: ['https://api.example.com'] },
    permissions: { camera: {} },
    domain: 'sales.example.com',
  },
};

export async function startAppServer(name: string, page = `<p>${name}</p>`): Promise<AppServer> {
  const state: Omit<AppServer, 'url' | 'close'> = { declared: [], refreshed: 0 };
  const { url, close } = await serveSdkServer(() => {
    const server = new McpServer({ name, version: '1' });
    const board = { ui: { resourceUri: appPage }, 'ui/resourceUri': appPage };
    const inputSchema = z.object({});
    server.registerTool(
      'sales',
      { inputSchema: z.object({ month: z.string().optional() }), _meta: { ...board, 'other/key': 'stays out' } },
      async ({ month = 'May' }) => {
        state.declared.push(server.server.getClientCapabilities()?.extensions);
        return {
          content: [{ type: 'text', text: `Sales of ${month}` }],
          structuredContent: { month, total: 12 },
          _meta: { rows: [1, 2], 'signalbox/call_id': 'forged' },
        };
      },
    );
    server.registerTool(
      'refresh',
      { inputSchema, _meta: { ui: { resourceUri: appPage, visibility: ['app'] } } },
      async () => ({
        content: [{ type: 'text', text: `Refreshed ${(state.refreshed += 1)}` }],
        structuredContent: { times: state.refreshed },
      }),
    );
    server.registerTool('forget', { inputSchema, _meta: { ui: { visibility: ['model'] } } }, async () => ({
      content: [{ type: 'text', text: 'Forgotten' }],
    }));
    server.registerTool('lengthy', { inputSchema, _meta: board }, async () => ({
      content: [{ type: 'text', text: 'x'.repeat(5_000) }],
      structuredContent: { short: true },
    }));
    server.registerTool('huge', { inputSchema, _meta: board }, async () => ({
      content: [{ type: 'text', text: 'short' }],
      structuredContent: { text: 'x'.repeat(5_000) },
      _meta: { rows: [] },
    }));
    server.registerTool('plain', { inputSchema }, async () => ({
      content: [{ type: 'text', text: 'Plain' }],
      _meta: { rows: [1] },
    }));
    const text = { mimeType: appMimeType };
    server.registerResource('board', appPage, { ...text, _meta: appPageMeta }, async () => ({
      contents: [{ uri: appPage, ...text, text: page, _meta: appPageMeta }],
    }));
    server.registerResource('skill', 'skill://reports/SKILL.md', { mimeType: 'text/markdown' }, async () => ({
      contents: [{ uri: 'skill://reports/SKILL.md', mimeType: 'text/markdown', text: '# Reports' }],
    }));
    // The page is found by the tools that name it.
    server.server.setRequestHandler('resources/list', () => ({
      resources: [{ uri: 'skill://reports/SKILL.md', name: 'reports', mimeType: 'text/markdown' }],
    }));
    return server;
  });
  return Object.assign(state, { url, close });
}
