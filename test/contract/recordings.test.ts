// Answers recorded from real providers, served as those would frame them and read through the provider, whatever the
// byte boundaries. Skipped by name where the recordings are not at hand.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { providerSchema } from '#libs/config/schema.js';
import type { Json } from '#libs/schemas/json.js';
import { foldEvents } from '#libs/testing/collect-model-events.js';
import { createErrorReader } from '../../apps/gateway/models/openai/read-openai-error.js';
import { readOpenAiAnswer } from '../../apps/gateway/models/openai/read-openai-answer.js';
import { OpenAiProvider } from '../../apps/gateway/models/openai/openai-provider.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';

interface Expected {
  text: string;
  reasoning: string;
  tool_calls: { name: string; arguments: Json }[];
  finish_reason: string;
  usage?: Record<string, number>;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const shared = [process.env['SHARED_DIR'], join(root, '../shared'), join(root, '../../shared')].find(
  (path) => path !== undefined && existsSync(join(path, 'recordings/expected.json')),
);
const recordings = shared === undefined ? '' : join(shared, 'recordings');
const files = shared === undefined ? [] : readdirSync(join(recordings, 'openai')).map((file) => `openai/${file}`);

const expected =
  shared === undefined
    ? {}
    : (JSON.parse(readFileSync(join(recordings, 'expected.json'), 'utf8')) as Record<string, Expected>);

function compare(file: string, events: ModelEvent[]): void {
  const wanted = expected[file]!;
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

async function ask(base_url: string, stream: boolean): Promise<ModelEvent[]> {
  const provider = new OpenAiProvider('recorded', providerSchema.parse({ kind: 'openai', base_url, max_retries: 0 }));
  const request = { model: 'm', messages: [], tools: [], stream, parameters: {}, unknown: {} };
  const call = { requestId: 'r', deadline: Date.now() + 25_000, signal: new AbortController().signal };
  const events: ModelEvent[] = [];
  for await (const event of provider.call(request, call)) events.push(event);
  await provider.close();
  return events;
}

async function readPieces(body: Buffer, type: string, size: number): Promise<ModelEvent[]> {
  let at = 0;
  const read = () => Promise.resolve(at >= body.length ? undefined : body.subarray(at, (at += size)));
  const errors = createErrorReader('recorded', []);
  const reading = {
    provider: 'recorded',
    model: 'm',
    toolNameOf: (name: string) => name,
    errors,
    keepReasoning: false,
  };
  const events: ModelEvent[] = [];
  const answer = readOpenAiAnswer({ headers: { 'content-type': type }, read }, reading, { maxEventChars: 1_000_000 });
  for await (const batch of answer) events.push(...batch);
  return events;
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
      for (const file of readable) {
        answers.set(file, ask(`http://127.0.0.1:${port}/${file}/v1`, file.endsWith('.chunks.txt')));
      }
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
    if (!file.endsWith('.chunks.txt'))
      return compare(file, await readPieces(Buffer.from(text), 'application/json', split));
    const frames = text
      .split('\n')
      .filter(Boolean)
      .map((line) => `data: ${line}\n\n`);
    const body = Buffer.from(`${frames.join('')}data: [DONE]\n\n`);
    compare(file, await readPieces(body, 'text/event-stream', split));
  });
});
