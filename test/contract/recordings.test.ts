// Answers recorded from real providers, served as those would frame them and read through the provider, whatever the
// byte boundaries. Skipped by name where the recordings are not at hand.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { providerSchema } from '#libs/config/schema.js';
import type { Json } from '#libs/schemas/json.js';
import { oneByOne } from '#libs/testing/one-by-one.js';
import { foldEvents } from '#libs/testing/collect-model-events.js';
import { silentLogger } from '#libs/logging/logger.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { wireFamily } from '../../apps/gateway/models/create-provider.js';
import { WireProvider } from '../../apps/gateway/models/wire-provider.js';
import { type Kind, readBytes, simpleRequest, writeRequest } from '../fixtures/read-family.js';

interface Expected {
  text: string;
  reasoning: string;
  tool_calls: { name: string; arguments: Json }[];
  finish_reason: string;
  usage?: Record<string, number>;
  /** Of a recorded failure. */
  error_status?: number;
  retry_after_s?: number;
}

const kinds: readonly Kind[] = ['openai', 'anthropic', 'gemini'];

const root = fileURLToPath(new URL('../..', import.meta.url));
const shared = [process.env['SHARED_DIR'], join(root, '../shared'), join(root, '../../shared')].find(
  (path) => path !== undefined && existsSync(join(path, 'recordings/expected.json')),
);
const recordings = shared === undefined ? '' : join(shared, 'recordings');
const files =
  shared === undefined
    ? []
    : kinds.flatMap((kind) => readdirSync(join(recordings, kind)).map((file) => `${kind}/${file}`));
const isStream = (file: string) => file.endsWith('.chunks.txt');

const expected =
  shared === undefined
    ? {}
    : (JSON.parse(readFileSync(join(recordings, 'expected.json'), 'utf8')) as Record<string, Expected>);

function compare(file: string, events: ModelEvent[]): void {
  const wanted = expected[file]!;
  if (wanted.error_status !== undefined) {
    const last = events.at(-1);
    expect(last?.type === 'error' && last.error).toMatchObject({
      http: wanted.error_status,
      upstreamStatus: wanted.error_status,
      retryAfterSeconds: wanted.retry_after_s,
    });
    return;
  }
  const answer = foldEvents(events);
  expect({
    text: answer.text,
    reasoning: answer.reasoning,
    tool_calls: answer.calls.map(({ name, arguments: text }) => ({ name, arguments: JSON.parse(text) as Json })),
    finish_reason: answer.finish,
  }).toEqual({
    text: wanted.text,
    reasoning: wanted.reasoning,
    tool_calls: wanted.tool_calls,
    finish_reason: wanted.finish_reason,
  });
  if (wanted.usage !== undefined) expect(answer.usage).toMatchObject(wanted.usage);
}

const kindOf = (file: string) => file.split('/')[0] as Kind;

async function ask(file: string, origin: string): Promise<ModelEvent[]> {
  const base_url = file.startsWith('openai/') ? `${origin}/${file}/v1` : `${origin}/${file}`;
  const config = providerSchema.parse({ kind: kindOf(file), base_url, max_retries: 0 });
  const provider = new WireProvider('recorded', config, wireFamily(kindOf(file), config, silentLogger));
  const call = { requestId: 'r', deadline: Date.now() + 25_000, signal: new AbortController().signal };
  const events: ModelEvent[] = [];
  for await (const event of oneByOne(provider.call(simpleRequest({ stream: isStream(file) }), call)))
    events.push(event);
  await provider.close();
  return events;
}

/** As its provider frames it. */
function framed(file: string, text: string): Buffer {
  const lines = text.split('\n').filter(Boolean);
  switch (kindOf(file)) {
    case 'openai':
      return Buffer.from(`${lines.map((line) => `data: ${line}\n\n`).join('')}data: [DONE]\n\n`);
    case 'anthropic':
      return Buffer.from(lines.map((line) => `event: x\ndata: ${line}\n\n`).join(''));
    case 'gemini':
      return Buffer.from(lines.map((line) => `data: ${line}\r\n\r\n`).join(''));
  }
}

describe.skipIf(shared === undefined).each(['1', '7', '1000'])(
  'recordings over HTTP in pieces of %s bytes',
  (split) => {
    // The server rests a millisecond after each piece; what would take it longer than a few seconds is read below.
    const readable = files.filter((file) => statSync(join(recordings, file)).size / Number(split) < 1_500);
    const answers = new Map<string, Promise<ModelEvent[]>>();
    let server: ChildProcess;

    beforeAll(async () => {
      server = spawn(process.execPath, [join(shared!, 'tools/replay-upstream.mjs'), recordings], {
        env: { ...process.env, SPLIT: split },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const port = await new Promise<string>((resolve, reject) => {
        server.stdout!.once('data', (line: Buffer) => resolve(line.toString().trim()));
        server.once('exit', () => reject(new Error('the replay server ended')));
      });
      for (const file of readable) answers.set(file, ask(file, `http://127.0.0.1:${port}`));
    });
    afterAll(() => {
      server.kill('SIGKILL');
    });

    test.each(readable)('%s', async (file) => compare(file, await answers.get(file)!));
  },
);

describe.skipIf(shared === undefined).each([1, 7, 1000])('recordings read in pieces of %s bytes', (split) => {
  test.each(files)('%s', async (file) => {
    const text = readFileSync(join(recordings, file), 'utf8');
    const body = isStream(file) ? framed(file, text) : Buffer.from(text);
    const type = isStream(file) ? 'text/event-stream' : 'application/json';
    const { reader } = writeRequest(kindOf(file), { stream: isStream(file) });
    compare(file, await readBytes(reader, body, { type, size: split }));
  });
});
