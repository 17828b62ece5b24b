// Requests to routes beside those of chats, for a test that compares answers with the OpenAPI document.

export interface DocumentedRequest {
  path: string;
  body?: unknown;
  /** Sent as it is, not as JSON. */
  raw?: string;
  headers?: Record<string, string>;
}

type Ask = (operation: string, request: DocumentedRequest) => Promise<{ body: unknown; headers: Headers }>;

export async function askApprovals(ask: Ask): Promise<void> {
  const path = '/api/approvals';
  const call = { path: '/api/tools/call', body: { name: 'delete_file', arguments: { path: 'none' } } };
  const { body } = await ask('POST /api/tools/call', call);
  const { id } = (body as { approval: { id: string } }).approval;
  for (const query of ['?state=waiting&limit=1', '?state=none'])
    await ask('GET /api/approvals', { path: path + query });
  for (const decision of ['maybe', 'deny', 'deny'])
    await ask('POST /api/approvals/{id}', { path: `${path}/${id}`, body: { decision } });
  for (const each of [id, 'appr_none']) await ask('GET /api/approvals/{id}', { path: `${path}/${each}` });
  await ask('POST /api/policy/draft', { path: '/api/policy/draft', body: { approval_id: id } });
}

export async function askUsage(ask: Ask): Promise<void> {
  for (const query of ['', '?by=key,model,tool,day&since=2026-01-01', '?by=nobody', '?until=today', '?format=csv'])
    await ask('GET /api/usage', { path: `/api/usage${query}` });
  for (const query of ['', '?cursor=none']) await ask('GET /api/usage/budgets', { path: `/api/usage/budgets${query}` });
}

export async function askAudit(ask: Ask): Promise<void> {
  for (const query of ['?limit=2&tool=write_file', '?limit=none'])
    await ask('GET /api/audit', { path: `/api/audit${query}` });
  for (const query of ['', '?format=csv', '?format=none'])
    await ask('GET /api/audit/export', { path: `/api/audit/export${query}` });
  const { body } = await ask('GET /api/audit', { path: '/api/audit?limit=1' });
  for (const id of [(body as { data: { id: string }[] }).data[0]!.id, 'none']) {
    await ask('GET /api/audit/{id}', { path: `/api/audit/${id}` });
    await ask('GET /api/audit/{id}/proof', { path: `/api/audit/${id}/proof` });
  }
  for (const each of [undefined, { since: 'yesterday' }])
    await ask('POST /api/audit/verify', { path: '/api/audit/verify', body: each });
}

export async function askConnections(ask: Ask): Promise<void> {
  const path = '/api/connections/desk';
  for (const headers of [{ 'X-Key': 'secret' }, {}])
    await ask('POST /api/connections/{server}', { path, body: { headers } });
  await ask('GET /api/connections', { path: '/api/connections' });
  for (const _ of [1, 2]) await ask('DELETE /api/connections/{server}', { path });
}

export async function askOffers(ask: Ask): Promise<void> {
  for (const path of ['/api/resources', '/api/resources/templates', '/api/prompts'])
    for (const query of ['', '?limit=0']) await ask(`GET ${path}`, { path: path + query });
  const language = { name: 'language', value: 'p' };
  const requests: [string, object][] = [
    ['/api/resources/read', { uri: 'doc://readme' }],
    ['/api/prompts/get', { name: 'review', arguments: { language: 'perl' } }],
    ['/api/completions/arguments', { ref: { type: 'prompt', name: 'review' }, argument: language }],
  ];
  for (const [path, body] of requests) for (const each of [body, {}]) await ask(`POST ${path}`, { path, body: each });
}

/** Last: from the first key on, every request needs one. */
export async function askKeys(ask: Ask): Promise<void> {
  const made = await ask('POST /api/keys', { path: '/api/keys', body: { owner: 'root', scopes: ['admin'] } });
  const { id, key } = made.body as { id: string; key: string };
  const headers = { authorization: `Bearer ${key}` };
  await ask('GET /api/keys', { path: '/api/keys?limit=1', headers });
  await ask('GET /api/keys', { path: '/api/keys' });
  for (const each of [id, 'key_none']) await ask('GET /api/keys/{id}', { path: `/api/keys/${each}`, headers });
  await ask('GET /api/policy', { path: '/api/policy', headers });
  await ask('GET /api/policy', { path: '/api/policy' });
  const explained = { tool: 'workspace/delete_file', arguments: { path: 'a' } };
  await ask('POST /api/policy/explain', { path: '/api/policy/explain', body: explained, headers });
  await ask('POST /api/policy/explain', { path: '/api/policy/explain', body: {}, headers });
  for (const policy of ['rules: []', 'rules: [{ name: a }]']) {
    await ask('POST /api/policy/simulate', { path: '/api/policy/simulate', body: { policy }, headers });
  }
  await ask('POST /api/policy/draft', { path: '/api/policy/draft', body: { approval_id: 'none' }, headers });
  await ask('GET /api/policy/unused', { path: '/api/policy/unused?days=7', headers });
  await ask('POST /api/keys', { path: '/api/keys', body: { owner: '' }, headers });
  const rotate = { path: `/api/keys/${id}/rotate`, body: { grace_s: 60 }, headers };
  await ask('POST /api/keys/{id}/rotate', rotate);
  await ask('DELETE /api/keys/{id}', { path: `/api/keys/${id}`, headers });
}

export async function askMcp(ask: Ask): Promise<void> {
  const rpc = (method: string, params = {}) => ({ jsonrpc: '2.0', id: 1, method, params });
  const initialize = rpc('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'a', version: '1' },
  });
  const accept = { accept: 'application/json, text/event-stream' };
  for (const [route, path] of [
    ['/mcp', '/mcp'],
    ['/mcp/{toolset}', '/mcp/clerk'],
  ] as const) {
    for (const body of [
      rpc('tools/list'),
      [rpc('tools/list')],
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      {},
    ])
      await ask(`POST ${route}`, { path, body, headers: accept });
    const { headers } = await ask(`POST ${route}`, { path, body: initialize, headers: accept });
    const session = { 'mcp-session-id': headers.get('mcp-session-id')! };
    await ask(`POST ${route}`, { path, body: rpc('tools/list'), headers: { ...accept, ...session } });
    for (const each of [session, session]) await ask(`DELETE ${route}`, { path, headers: each });
    await ask(`GET ${route}`, { path, headers: { accept: 'text/event-stream' } });
  }
  await ask('POST /sse/messages', { path: '/sse/messages?sessionId=none', body: rpc('ping') });
}
