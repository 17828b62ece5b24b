// A tool as the gateway's catalog has it, for tests of what is chosen from a catalog.
import type { CatalogTool } from '#libs/schemas/tool-definition.js';

export const catalogTool = (server: string, name: string, more: Partial<CatalogTool> = {}): CatalogTool => ({
  name,
  server,
  tool: name,
  description: `Does ${name}`,
  inputSchema: { type: 'object', properties: {} },
  annotations: {},
  definitionHash: name,
  safe: true,
  readOnly: true,
  timeoutMs: 1_000,
  maxTimeoutMs: 1_000,
  isolation: 'process',
  available: true,
  ...more,
});
