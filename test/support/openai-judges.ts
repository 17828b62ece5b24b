// Test support: the official SDK: whole answers, iterated streams and its accumulators. One set per major version.
import OpenAI from 'openai';
import { fetchWith, type Heard, type Judge, type JudgeTool, type Question } from './chat-judge.js';
import { openAiMajors } from './newest-sdk.js';

export const openAiJudges: Judge[] = openAiMajors(OpenAI).flatMap(([major, Client]) => {
  const open = (question: Question) =>
    new Client({
      baseURL: question.baseUrl,
      apiKey: 'sk-any',
      maxRetries: 0,
      timeout: 20_000,
      fetch: fetchWith(question.extra),
    });
  const loop = (stream: boolean) => async (question: Question) => {
    const tools = (question.tools ?? []).map(runnable);
    const body = { ...bodyOf(question), tools };
    const { completions } = open(question).chat;
    const runner = stream
      ? completions.runTools({ ...body, stream: true }, { maxChatCompletions: 4 })
      : completions.runTools({ ...body, stream: false }, { maxChatCompletions: 4 });
    return (await runner.finalContent()) ?? '';
  };
  return [
    {
      name: `openai ${major}, whole`,
      hear: async (question: Question) => {
        const answer = await open(question).chat.completions.create({ ...bodyOf(question), stream: false });
        return heardOf(
          answer,
          answer.choices.map((choice) => choice.finish_reason),
        );
      },
      converse: loop(false),
    },
    {
      name: `openai ${major}, iterated`,
      hear: (question: Question) => iterate(open(question), question),
      converse: loop(true),
    },
    {
      name: `openai ${major}, .stream()`,
      hear: async (question: Question) => {
        const body = { ...bodyOf(question), stream_options: { include_usage: true } };
        const stream = open(question).chat.completions.stream(body);
        const finished: string[] = [];
        stream.on('chunk', (chunk) => {
          for (const choice of chunk.choices) if (choice.finish_reason !== null) finished.push(choice.finish_reason);
        });
        return heardOf(await stream.finalChatCompletion(), finished);
      },
      converse: loop(true),
    },
  ];
});

function bodyOf({ content, tools }: Question) {
  return {
    model: 'scripted/model',
    messages: [{ role: 'user' as const, content }],
    ...(tools === undefined
      ? {}
      : {
          tools: tools.map(({ name, parameters }) => ({ type: 'function' as const, function: { name, parameters } })),
        }),
  };
}

const runnable = ({ name, parameters, run }: JudgeTool) => ({
  type: 'function' as const,
  function: { name, description: name, parameters, parse: (text: string) => JSON.parse(text) as object, function: run },
});

function heardOf(answer: OpenAI.Chat.ChatCompletion, finishReasons: string[]): Heard {
  const { message } = answer.choices[0]!;
  return {
    text: message.content ?? '',
    finishReasons,
    calls: (message.tool_calls ?? []).map((call) => {
      if (call.type !== 'function') throw new Error(`a call of type ${call.type}`);
      return { name: call.function.name, arguments: JSON.parse(call.function.arguments) as unknown };
    }),
    usage: answer.usage && { input: answer.usage.prompt_tokens, output: answer.usage.completion_tokens },
  };
}

/** Reads the stream as the SDK documents it, with no more optional chaining than the types require. */
async function iterate(client: OpenAI, question: Question): Promise<Heard> {
  const heard: Heard = { text: '', finishReasons: [], calls: [], usage: undefined };
  const calls: { name: string; text: string }[] = [];
  const body = { ...bodyOf(question), stream: true as const, stream_options: { include_usage: true } };
  const ids = new Set<string>();
  let roles = 0;
  for await (const chunk of await client.chat.completions.create(body)) {
    ids.add(`${chunk.id} ${chunk.created} ${chunk.object}`);
    if (chunk.usage) heard.usage = { input: chunk.usage.prompt_tokens, output: chunk.usage.completion_tokens };
    // OpenAI's own usage chunk is the only one without a choice.
    if (chunk.choices.length === 0 && chunk.usage) continue;
    const [choice] = chunk.choices;
    if (choice!.delta.role !== undefined) roles++;
    heard.text += choice!.delta.content ?? '';
    if (choice!.finish_reason !== null) heard.finishReasons.push(choice!.finish_reason);
    for (const call of choice!.delta.tool_calls ?? []) {
      calls[call.index] ??= { name: '', text: '' };
      if (call.id !== undefined) calls[call.index]!.name = call.function!.name!;
      calls[call.index]!.text += call.function!.arguments!;
    }
  }
  if (ids.size !== 1 || roles !== 1) throw new Error(`${ids.size} messages, ${roles} roles in one stream`);
  // A hole in the list would mean that call indexes do not start at 0.
  heard.calls = Array.from(calls, (call) => ({ name: call.name, arguments: JSON.parse(call.text) as unknown }));
  return heard;
}
