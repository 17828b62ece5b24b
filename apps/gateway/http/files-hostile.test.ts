import { readdirSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { describe, expect } from 'vitest';
import { failure, type Shown, useFilesApp } from '../../../test/files-app.js';
import { verifies } from '../../../test/verifies.js';

const files = useFilesApp();
const { api, put, hostOf } = files;

/** Sends the path unchanged; `fetch` would normalise it. */
function rawGet(path: string, method = 'GET'): Promise<[number, string]> {
  return new Promise((resolve, reject) => {
    const { port } = files.app;
    const request = httpRequest({ host: '127.0.0.1', port, path, method }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve([response.statusCode!, (JSON.parse(text) as Shown).error.code]));
    });
    request.on('error', reject).end();
  });
}

describe('hostile paths', () => {
  const paths = [
    '../x',
    '..%2fx',
    '%2e%2e/%2e%2e/x',
    'a/..%2f..%2fx',
    '%00',
    'a'.repeat(256),
    '~/x',
    '%2fetc/passwd',
    'file:%2f%2f/x',
    '',
  ];
  for (const path of paths) {
    verifies('tools.files-confined', path, async () => {
      await put('x', 'x');
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const [status, code] = await rawGet(`/api/sessions/${files.id}/files/${path}`, method);
        expect([path, status, code]).toEqual([path, 400, 'invalid_value']);
      }
      expect(readdirSync(await hostOf())).toEqual(['.tmp', 'x']);
    });
  }

  verifies('tools.files-confined', 'session ids', async () => {
    for (const name of ['..', 'a%2fb', 'a'.repeat(129), '%00', '%C3%A4']) {
      const [status, code] = await rawGet(`/api/sessions/${name}/files/x`);
      expect([name, status, code]).toEqual([name, 400, 'invalid_value']);
    }
  });

  verifies('tools.files-confined', "another principal's session is not found", async () => {
    await files.app.sessions.ensure('someone', 'sess_foreign');
    expect(await failure(await api('/sess_foreign/files/x'))).toEqual([404, 'session_not_found']);
    expect(await failure(await api('/sess_foreign'))).toEqual([404, 'session_not_found']);
    expect(await failure(await api('/sess_foreign', { method: 'DELETE' }))).toEqual([404, 'session_not_found']);
  });
});
