// A Signalbox whose policy requires approvals, and what its tests need.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '#libs/schemas/json.js';
import type { Script } from './scripted-upstream.js';
import type { Started } from './services/start-process.js';
import type { Signalbox, SignalboxOptions } from './services/start-signalbox.js';
import { messagesOf, rounds } from './scripts.js';

export interface ShownApproval extends JsonObject {
  id: string;
  state: string;
  tool_call_id: string;
  arguments: JsonObject;
}

/** Files below `etc/` are never written; other files only after an approval. */
const rules = [
  { name: 'never', tool: 'workspace/write_file', arguments: [{ path: '$.path', prefix: 'etc/' }], effect: 'deny' },
  { name: 'writes', tool: 'workspace/write_file', effect: 'require_approval', reason: 'Writes a file' },
];

/** Decides through the API. */
export async function decideAt(url: string, id: string, body: object) {
  const answer = await fetch(`${url}/api/approvals/${id}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  type Answer = ShownApproval & { error?: { code: string; message: string } };
  return { status: answer.status, body: (await answer.json()) as Answer };
}

/** `start` decides whether it has processes of its own. */
export async function startAskingSignalbox<Part extends Started>(
  start: (options: SignalboxOptions) => Promise<Signalbox<Part>>,
  options: SignalboxOptions = {},
  approvals: object = {},
) {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-approvals-'));
  const file = join(directory, 'signalbox.yaml');
  writeFileSync(file, JSON.stringify({ policy: { rules }, approvals }));
  let script: Script = [];
  const box = await start({
    ...options,
    environment: { SIGNALBOX_CONFIG: file, ...options.environment },
    script: (request, number) => {
      if (typeof script !== 'function') throw new Error('scripts of these tests are functions');
      return script(request, number);
    },
  });
  const url = () => box.gateways.at(-1)!.url;
  return {
    box,
    /** The URL of the gateway that was started last. */
    url,
    follow: (next: Script) => (script = next),
    close: async () => {
      await box.close();
      rmSync(directory, { recursive: true });
    },
    fileOf: async (session: string, path: string) => {
      const answer = await fetch(`${url()}/api/sessions/${session}/files/${path}`);
      return answer.status === 200 ? answer.text() : undefined;
    },
    approval: async (id: string) => (await (await fetch(`${url()}/api/approvals/${id}`)).json()) as ShownApproval,
    decide: (id: string, body: object, at = url()) => decideAt(at, id, body),
  };
}

export const write = (path: string, content = 'one') => ({
  id: 'call_0',
  name: 'write_file',
  arguments: { path, content, append: true },
});

/** A script that asks for one write, then reports its result. */
export const writing = (path: string) =>
  rounds({ text: 'I will write. ', toolCalls: [write(path)] }, (request) => ({
    text: `Result: ${messagesOf(request).at(-1)!['content'] as string}`,
  }));

export const user = (content: string) => ({ role: 'user' as const, content });

export const answerTo = (id: string, content: object | string) => ({
  role: 'tool' as const,
  tool_call_id: id,
  content: typeof content === 'string' ? content : JSON.stringify(content),
});
