// A page of a tool server that the policy denies, asked for in other spellings that its server would resolve.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { type OfferingServer, startOfferingServer } from '../support/offering-server.js';
import { post } from '../support/scripts.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

const directory = mkdtempSync(join(tmpdir(), 'signalbox-spellings-'));
let library: OfferingServer;
let box: SignalboxHere;
beforeAll(async () => {
  library = await startOfferingServer();
  const rules = [{ name: 'no-secret', resource: 'library/library://pages/secret', effect: 'deny' }];
  const file = join(directory, 'signalbox.yaml');
  writeFileSync(file, JSON.stringify({ policy: { rules }, mcpServers: { library: { url: library.url } } }));
  box = await startSignalboxHere({ scripted: false, environment: { SIGNALBOX_CONFIG: file } });
  await vi.waitFor(async () => expect(await read('open')).toMatchObject({ status: 200 }), 20_000);
}, 60_000);
afterAll(async () => {
  await box?.close();
  await library?.close();
  rmSync(directory, { recursive: true });
});

const read = (id: string) => post(box.url, '/api/resources/read', { uri: `library://pages/${id}` });

verifies('policy.resource-spellings', 'by a template, at a server that resolves URIs', async () => {
  expect(JSON.stringify(await read('x/../open'))).toContain('Page open');
  const asked = library.asked.length;
  for (const id of ['secret', 'x/../secret', 'x/%2e%2e/secret', '%73ecret', 'sec\tret', 'secret\n'])
    expect([id, (await read(id)).status]).toEqual([id, 404]);
  expect(library.asked.length).toBe(asked);
});
