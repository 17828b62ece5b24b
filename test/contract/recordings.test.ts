// Answers recorded from real providers, served as those would frame them and read through the provider, whatever the
// byte boundaries. Skipped by name where the recordings are not at hand.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { providerSchema } from '#libs/config/schema.js';
import type { Json } from '#libs/schemas/json.js';
import { oneByOne } from '../support/one-by-one.js';
import { foldEvents } from '../support/collect-model-events.js';
import { silentLogger } from '#libs/logging/logger.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { wireFamily } from '../../apps/gateway/models/routing/create-provider.js';
import { WireProvider } from '../../apps/gateway/models/wire/wire-provider.js';
import { type Kind, readBytes, simpleRequest, writeRequest } from '../fixtures/read-family.js';
import { expectedAnswers, recordings, startReplay } from '../support/replay-upstream.js';

const kinds = ['openai', 'anthropic', 'gemini'] as const satisfies readonly Kind[];

const files =
  recordings === undefined
    ? []
    : kinds.flatMap((kind) => readdirSync(join(recordings!, kind)).map((file) => `${kind}/${file}`));
const contentOf = (file: string) => readFileSync(join(recordings!, file), 'utf8');
const isStream = (file: string) => file.endsWith('.chunks.txt');

function compare(file: string, events: ModelEvent[]): void {
  const wanted = expectedAnswers[file]!;
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

const kindOf = (file: string) => file.split('/')[0] as (typeof kinds)[number];

async function ask(file: string, origin: string): Promise<ModelEvent[]> {
  const base_url = file.startsWith('openai/') ? `${origin}/${file}/v1` : `${origin}/${file}`;
  const config = providerSchema.parse({ kind: kindOf(file), base_url, max_retries: 0 });
  const provider = new WireProvider('recorded', config, wireFamily(kindOf(file), config), {
    logger: silentLogger,
  });
  const call = { requestId: 'r', deadline: Date.now() + 25_000, signal: new AbortController().signal };
  const events: ModelEvent[] = [];
  for await (const event of oneByOne((take) => provider.call(simpleRequest({ stream: isStream(file) }), call, take)))
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

describe.skipIf(recordings === undefined).each(['1', '7', '1000'])(
  'recordings over HTTP in pieces of %s bytes',
  (split) => {
    // The server rests a millisecond after each piece; what would take it longer than a few seconds is read below.
    const readable = files.filter((file) => Buffer.byteLength(contentOf(file)) / Number(split) < 1_500);
    const answers = new Map<string, Promise<ModelEvent[]>>();
    let replay: Awaited<ReturnType<typeof startReplay>> | undefined;

    beforeAll(async () => {
      replay = await startReplay(split);
      for (const file of readable) answers.set(file, ask(file, replay.origin));
    });
    afterAll(() => replay?.close());

    test.each(readable)('%s', async (file) => compare(file, await answers.get(file)!));
  },
);

describe.skipIf(recordings === undefined).each([1, 7, 1000])('recordings read in pieces of %s bytes', (split) => {
  test.each(files)('%s', async (file) => {
    const text = contentOf(file);
    const body = isStream(file) ? framed(file, text) : Buffer.from(text);
    const type = isStream(file) ? 'text/event-stream' : 'application/json';
    const { reader } = writeRequest(kindOf(file), { stream: isStream(file) });
    compare(file, await readBytes(reader, body, { type, size: split }));
  });
});
