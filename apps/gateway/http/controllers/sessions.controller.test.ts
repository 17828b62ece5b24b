import { existsSync } from 'node:fs';
import { expect } from 'vitest';
import { failure, json, useFilesApp } from '../../../../test/files-app.js';
import { verifies } from '../../../../test/verifies.js';

const files = useFilesApp();
const { api, put, hostOf } = files;

verifies('tools.sessions-http', 'made, shown, listed, removed with its files', async () => {
  const made = await api('', {
    method: 'POST',
    body: JSON.stringify({ session_id: files.id, metadata: { a: 1 } }),
    headers: { 'content-type': 'application/json' },
  });
  expect([made.status, await json(made)]).toMatchObject([
    201,
    {
      id: files.id,
      workspace_path: `/mcp_workspaces/${files.id}`,
      metadata: { a: 1 },
      usage: { bytes: 0, files: 0 },
      limits: { files: 100, depth: 8 },
    },
  ]);
  await put('a/b.txt', '12345');
  const shown = await json(await api(`/${files.id}`));
  expect(shown.usage).toEqual({ bytes: 5, files: 1 });
  expect(Date.parse(shown['expires_at'] as string)).toBeGreaterThan(Date.now());
  expect(JSON.stringify(shown)).not.toContain(files.app.root);
  expect((await json(await api('?limit=100'))).sessions.map((session) => session.id)).toContain(files.id);
  const { files: listed } = await json(await api(`/${files.id}/files`));
  expect(listed.map(({ path, type, size }) => [path, type, size])).toEqual([
    ['a', 'directory', 0],
    ['a/b.txt', 'file', 5],
  ]);
  const host = await hostOf();
  expect((await api(`/${files.id}`, { method: 'DELETE' })).status).toBe(204);
  expect(existsSync(host)).toBe(false);
  expect(await failure(await api(`/${files.id}`))).toEqual([404, 'session_not_found']);
});

verifies('tools.sessions-http', 'bodies that are wrong', async () => {
  const post = (body?: string) =>
    api('', {
      method: 'POST',
      ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
    });
  expect((await post()).status).toBe(201);
  expect((await post('{"session_id":null,"metadata":null}')).status).toBe(201);
  const table: [string, string][] = [
    ['{"session_id":"../x"}', 'session_id'],
    ['{"session_id":["a"]}', 'session_id'],
    ['{"session_id":""}', 'session_id'],
    ['{"metadata":[]}', 'metadata'],
    ['{"metadata":"x"}', 'metadata'],
    [`{"metadata":{"a":"${'x'.repeat(20_000)}"}}`, 'metadata'],
    ['[]', 'body'],
    ['"x"', 'body'],
  ];
  for (const [body, param] of table) {
    const answer = await post(body);
    expect([body.slice(0, 40), answer.status, (await json(answer)).error]).toMatchObject([
      body.slice(0, 40),
      400,
      { code: 'invalid_value', param },
    ]);
  }
});
