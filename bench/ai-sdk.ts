// The loop of the Vercel AI SDK in a process of its own: two model calls and one tool that runs in it, without a queue, a
// journal or an audit. Its packages are where the message says, not ours.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/** One measurement: so many loops under way for a time. */
export interface AiSdkLoops {
  /** Where the packages were installed. */
  directory: string;
  upstreamUrl: string;
  messages: { role: string; content: string }[];
  inFlight: number;
  forMs: number;
}

export interface AiSdkResult {
  loops: number;
  elapsedMs: number;
  p50Ms: number;
  /** CPU time of the process a loop. */
  micros: number;
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

async function run({ directory, upstreamUrl, messages, inFlight, forMs }: AiSdkLoops): Promise<AiSdkResult> {
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
  const loop = async () => {
    const { steps } = await sdk.generateText({
      model,
      system: system!.content,
      messages: conversation,
      tools: { get_time },
      stopWhen: sdk.stepCountIs(5),
    });
    if (steps.length !== 2) throw new Error(`a loop of the AI SDK had ${steps.length} model calls`);
  };
  const took: number[] = [];
  const before = process.cpuUsage();
  const began = performance.now();
  const one = async () => {
    while (performance.now() - began < forMs) {
      const startedAt = performance.now();
      await loop();
      took.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, one));
  const { user, system: kernel } = process.cpuUsage(before);
  const sorted = took.sort((left, right) => left - right);
  return {
    loops: took.length,
    elapsedMs: performance.now() - began,
    p50Ms: sorted[sorted.length >> 1] ?? Number.NaN,
    micros: (user + kernel) / took.length,
  };
}

process.on('message', (what: AiSdkLoops) => {
  run(what).then(
    (result) => process.send!(result),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.once('disconnect', () => process.exit(0));
