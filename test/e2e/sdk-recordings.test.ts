// Recorded answers read by the Vercel AI SDK must be the same directly from the provider and through the gateway. Skipped
// by name without the recordings.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { aiSdkJudges } from '../support/agent-judges.js';
import type { JudgeTool } from '../support/chat-judge.js';
import { expectedAnswers, recordings, startReplay } from '../support/replay-upstream.js';
import { verifies } from '../verifies.js';

const files = Object.keys(expectedAnswers).filter((file) => file.startsWith('openai/'));
const isStream = (file: string) => file.endsWith('.chunks.txt');
const providerOf = (file: string) => file.replace(/^openai\//, '').replaceAll('.', '-');

/** Mistral's answers that the SDK can only read through the gateway: a call without a type, content in parts. */
const unreadable = new Set([
  '@ai-sdk/openai, generateText: openai/mistral-tool-call.json',
  '@ai-sdk/openai, streamText: openai/mistral-tool-call.chunks.txt',
  '@ai-sdk/openai, streamText: openai/mistral-reasoning.chunks.txt',
]);

describe.skipIf(recordings === undefined)('recorded answers', () => {
  let box: SignalboxHere | undefined;
  let replay: Awaited<ReturnType<typeof startReplay>> | undefined;
  let url: string;
  const addressOf = (file: string) => `${replay!.origin}/${file}/v1`;

  beforeAll(async () => {
    [box, replay] = await Promise.all([startSignalboxHere({ gateways: 0, workers: 0 }), startReplay()]);
    const providers = files.map((file) => [
      providerOf(file),
      { kind: 'openai', base_url: addressOf(file), models: ['m'], max_retries: 0 },
    ]);
    ({ url } = await box.startGateway({ MODELS_PROVIDERS: JSON.stringify(Object.fromEntries(providers)) }));
  });
  afterAll(async () => {
    replay?.close();
    await box?.close();
  });

  for (const judge of aiSdkJudges) {
    for (const file of files.filter((each) => isStream(each) === judge.name.endsWith('streamText'))) {
      verifies('chat.sdk', `${judge.name}: ${file}, at its provider and through the gateway`, async () => {
        const wanted = expectedAnswers[file]!;
        const tools = [...new Set(wanted.tool_calls.map(({ name }) => name))].map(toTool);
        const ask = (baseUrl: string, model: string) => judge.hear({ baseUrl, content: 'x', tools, extra: { model } });
        const through = await ask(`${url}/v1`, `${providerOf(file)}/m`);
        expect(through).toMatchObject({
          text: wanted.text,
          calls: wanted.tool_calls,
          finishReasons: [wanted.finish_reason],
        });
        const direct = ask(addressOf(file), 'm');
        if (unreadable.has(`${judge.name}: ${file}`)) await expect(direct).rejects.toThrow();
        else expect(through).toEqual(await direct);
      });
    }
  }
});

const toTool = (name: string): JudgeTool => ({ name, parameters: { type: 'object' }, run: () => '' });
