// The loop of the Vercel AI SDK in a process of its own: two model calls and one tool that runs in it, without a queue, a
// journal or an audit. Its packages are where the message says, not ours.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { answerTheBench, type Busy, keepBusy, type LoadResult } from './keep-busy.js';

/** One measurement: so many loops under way for a time. */
export interface AiSdkLoops extends Busy {
  /** Where the packages were installed. */
  directory: string;
  upstreamUrl: string;
  messages: { role: string; content: string }[];
}

/** What is used of the packages, whose types are not here. */
interface AiSdk {
  generateText(options: object): Promise<{ steps: unknown[] }>;
  tool(options: object): unknown;
  stepCountIs(steps: number): unknown;
  jsonSchema(schema: object): unknown;
}
interface Compatible {
  createOpenAICompatible(options: object): (model: string) => unknown;
}

async function run({ directory, upstreamUrl, messages, ...busy }: AiSdkLoops): Promise<LoadResult> {
  const { resolve } = createRequire(`${directory}/package.json`);
  const load = (name: string) => import(pathToFileURL(resolve(name)).href) as Promise<unknown>;
  const sdk = (await load('ai')) as AiSdk;
  const { createOpenAICompatible } = (await load('@ai-sdk/openai-compatible')) as Compatible;
  const model = createOpenAICompatible({ name: 'bench', baseURL: `${upstreamUrl}/v1` })('bench');
  const get_time = sdk.tool({
    description: 'The present time',
    inputSchema: sdk.jsonSchema({ type: 'object', properties: {} }),
    execute: () => Promise.resolve({ time: new Date().toISOString() }),
  });
  const [system, ...conversation] = messages;
  return keepBusy(busy, async () => {
    const { steps } = await sdk.generateText({
      model,
      system: system!.content,
      messages: conversation,
      tools: { get_time },
      stopWhen: sdk.stepCountIs(5),
    });
    if (steps.length !== 2) throw new Error(`a loop of the AI SDK had ${steps.length} model calls`);
  });
}

answerTheBench((busy) => run(busy as AiSdkLoops));
