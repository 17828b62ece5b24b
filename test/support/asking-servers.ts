// A Signalbox whose tool servers ask questions, of both eras and over every transport, and how tests answer them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import type { Started } from './services/start-process.js';
import {
  type Signalbox,
  type SignalboxOptions,
  startSignalbox,
  startSignalboxHere,
} from './services/start-signalbox.js';
import { decideAt } from './approvals-client.js';
import { eventsOf } from './events-client.js';
import { listeningFixture, type ListeningFixture } from './listening-fixture.js';
import { messagesOf, rounds } from './scripts.js';
import { fixture } from './tool-servers.js';
import { offeredTools } from './tools-client.js';

export const long = { timeout: 25_000, interval: 100 };
let directory: string;
let http: ListeningFixture[];

const book = { tool: 'book', arguments: {} as JsonObject };
/** `called`: the tool that the model calls. */
export const asking = { box: undefined as unknown as Signalbox<Started>, called: book };

const renamed = (to: string, from = 'book') => ({ tools: { include: [from], rename: { [from]: to } } });

/** Starts them for the tests of a file. */
export function askingServersOfFile(): void {
  beforeAll(async () => {
    asking.box = await open(startSignalboxHere);
  }, 90_000);
  afterAll(close);
}

/** With processes of its own, which can be killed. */
export function askingProcessesOfFile(): () => Signalbox {
  let box: Signalbox;
  beforeAll(async () => {
    asking.box = box = await open(startSignalbox);
  }, 90_000);
  afterAll(close);
  return () => box;
}

async function close(): Promise<void> {
  await asking.box?.close();
  for (const server of http ?? []) server.close();
  rmSync(directory, { recursive: true });
}

async function open<Part extends Started>(
  start: (options: SignalboxOptions) => Promise<Signalbox<Part>>,
): Promise<Signalbox<Part>> {
  directory = mkdtempSync(join(tmpdir(), 'signalbox-questions-'));
  asking.called = book;
  const [old, modern] = await Promise.all([listeningFixture('old-sdk'), listeningFixture('new-sdk')]);
  http = [old, modern];
  writeFileSync(
    join(directory, 'signalbox.yaml'),
    JSON.stringify({
      policy: { rules: [{ name: 'all', tool: '*/*', effect: 'allow' }] },
      mcpServers: {
        old: { command: 'node', args: [fixture('old-sdk')], tools: { include: ['book', 'wait'] } },
        single: { command: 'node', args: [fixture('old-sdk')], concurrency: 1, ...renamed('book_single') },
        brief: { url: `${old.address}/mcp`, timeout_ms: 1_500, max_timeout_ms: 1_500, ...renamed('book_brief') },
        oldHttp: { url: `${old.address}/mcp`, ...renamed('book_http') },
        oldSse: { url: `${old.address}/sse`, transport: 'sse', ...renamed('book_sse') },
        modern: { command: 'node', args: [fixture('new-sdk')], ...renamed('book_new', 'book_modern') },
        modernHttp: { url: `${modern.address}/mcp`, ...renamed('book_new_http', 'book_modern') },
      },
    }),
  );
  const box = await start({
    gateways: 2,
    environment: { SIGNALBOX_CONFIG: join(directory, 'signalbox.yaml') },
    script: (request, number) => {
      const script = rounds(
        { toolCalls: [{ id: 'call_0', name: asking.called.tool, arguments: asking.called.arguments }] },
        (second) => ({ text: `Result: ${messagesOf(second).at(-1)!['content'] as string}` }),
      );
      return (script as (...given: unknown[]) => never)(request, number);
    },
  });
  const all = ['book', 'wait', 'book_single', 'book_brief', 'book_http', 'book_sse', 'book_new', 'book_new_http'];
  await vi.waitFor(async () => {
    for (const { url } of box.gateways) {
      expect([...(await offeredTools(url)).keys()]).toEqual(expect.arrayContaining(all));
    }
  }, long);
  return box;
}

export const tools = [{ type: 'mcp', server_label: '*' }];
export const user = (content: string) => ({ role: 'user' as const, content });

export const shown = async (id: string, url = asking.box.url) =>
  (await (await fetch(`${url}/api/approvals/${id}`)).json()) as JsonObject;
export const decide = (id: string, body: object, url = asking.box.gateways[1]!.url) => decideAt(url, id, body);
export const ada = { decision: 'approve', arguments: { name: 'Ada', seats: 2 } };
/** The answers as the tool received them. */
export const answersIn = (text: string) => JSON.parse(text.slice(text.indexOf('['))) as JsonObject[];

/** Runs a turn with `hold` and passes its questions to `answer`. */
export async function held(session: string, answer: (question: JsonObject) => Promise<unknown>) {
  const types: unknown[] = [];
  let text = '';
  const body = { stream: true, messages: [user('Book')], tools, session_id: session };
  for await (const event of eventsOf(asking.box.url, '/api/chat/completions', body)) {
    types.push(event['type']);
    if (event['type'] === 'content') text += (event['delta'] as { content: string }).content;
    if (event['type'] === 'approval_required') await answer(event['approval'] as JsonObject);
  }
  return { types, text };
}
