// The table of the scope that each route needs. A route that is missing here stops the start.
import type { Scope } from '#libs/schemas/call-context.js';

/** open: anyone. anyone: the same, and who shows a key is its owner. key: any key. operator: this machine, METRICS_TOKEN, or a key with the scope `admin`. */
export type RouteAccess = Scope | 'open' | 'anyone' | 'key' | 'operator';

export const routeScopes: Readonly<Record<string, RouteAccess>> = {
  'POST /v1/chat/completions': 'chat',
  'POST /api/chat/completions': 'chat',
  'POST /v1/messages': 'chat',
  'POST /v1/messages/count_tokens': 'chat',
  'POST /v1/responses': 'chat',
  'POST /v1/responses/input_tokens': 'chat',
  'GET /v1/responses/:id': 'chat',
  'GET /v1/responses/:id/input_items': 'chat',
  'POST /v1/responses/:id/cancel': 'chat',
  'DELETE /v1/responses/:id': 'chat',
  'GET /v1/models': 'chat',
  'GET /v1/models/*': 'chat',
  'GET /api/runs': 'key',
  'GET /api/runs/:id': 'key',
  'GET /api/runs/:id/events': 'key',
  'DELETE /api/runs/:id': 'key',
  'GET /api/overview': 'key',
  'GET /api/workers': 'admin',
  'GET /api/me': 'anyone',
  'POST /api/sessions': 'chat',
  'GET /api/sessions': 'key',
  'GET /api/sessions/:id': 'chat',
  'DELETE /api/sessions/:id': 'chat',
  'GET /api/tools': 'tools',
  'GET /api/tools/*': 'tools',
  'POST /api/tools/call': 'tools',
  'GET /api/approvals': 'key',
  'GET /api/approvals/:id': 'key',
  'POST /api/approvals/:id': 'key',
  'GET /mcp': 'tools',
  'POST /mcp': 'tools',
  'DELETE /mcp': 'tools',
  'GET /sse': 'tools',
  'POST /sse/messages': 'tools',
  'GET /api/sessions/:id/files': 'files',
  'HEAD /api/sessions/:id/files/*': 'files',
  'GET /api/sessions/:id/files/*': 'files',
  'PUT /api/sessions/:id/files/*': 'files',
  'DELETE /api/sessions/:id/files/*': 'files',
  'GET /api/servers': 'admin',
  'GET /api/tools/changes': 'admin',
  'POST /api/tools/changes': 'admin',
  'GET /api/audit': 'admin',
  'GET /api/audit/export': 'admin',
  'GET /api/keys': 'admin',
  'POST /api/keys': 'admin',
  'POST /api/keys/:id/rotate': 'admin',
  'DELETE /api/keys/:id': 'admin',
  'GET /api/usage': 'key',
  'GET /metrics': 'operator',
  'GET /docs': 'operator',
  'GET /docs/*': 'operator',
  'GET /docs/swagger-initializer.js': 'operator',
  'GET /openapi.json': 'operator',
  'GET /health/live': 'open',
  'GET /health/ready': 'open',
};

/** `url`: the route's pattern. HEAD needs the same scope as GET. */
export function routeAccess(method: string, url: string): RouteAccess | undefined {
  return routeScopes[`${method} ${url}`] ?? (method === 'HEAD' ? routeScopes[`GET ${url}`] : undefined);
}
