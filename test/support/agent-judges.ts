// Test support: the Vercel AI SDK (both of its OpenAI providers) and LangChain.js.
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { type AIMessageChunk, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, jsonSchema, type LanguageModel, stepCountIs, streamText, tool } from 'ai';
import { fetchWith, type Heard, type Judge, type JudgeTool, type Question } from './chat-judge.js';

const providers: [string, (question: Question) => LanguageModel][] = [
  [
    '@ai-sdk/openai',
    ({ baseUrl, extra }) =>
      createOpenAI({ baseURL: baseUrl, apiKey: 'sk-any', fetch: fetchWith(extra) }).chat('scripted/model'),
  ],
  [
    '@ai-sdk/openai-compatible',
    ({ baseUrl, extra }) =>
      createOpenAICompatible({ name: 'signalbox', baseURL: baseUrl, includeUsage: true, fetch: fetchWith(extra) })(
        'scripted/model',
      ),
  ],
];

export const aiSdkJudges: Judge[] = providers.flatMap(([name, open]) => {
  const ask = (question: Question) => ({ model: open(question), prompt: question.content, maxRetries: 0 });
  return [
    {
      name: `${name}, generateText`,
      hear: async (question: Question) => {
        const result = await generateText({ ...ask(question), tools: toolsOf(question, false) });
        return heardOf(result, [result.finishReason]);
      },
      converse: async (question: Question) => {
        const tools = toolsOf(question, true);
        return (await generateText({ ...ask(question), tools, stopWhen: stepCountIs(4) })).text;
      },
    },
    {
      name: `${name}, streamText`,
      hear: async (question: Question) => {
        const { finishReasons, result } = await readParts({ ...ask(question), tools: toolsOf(question, false) });
        const [text, toolCalls, usage] = await Promise.all([result.text, result.toolCalls, result.totalUsage]);
        return heardOf({ text, toolCalls, usage }, finishReasons);
      },
      converse: async (question: Question) => {
        const tools = toolsOf(question, true);
        const { result } = await readParts({ ...ask(question), tools, stopWhen: stepCountIs(4) });
        return result.text;
      },
    },
  ];
});

/** All parts of a stream, including errors, which readers of the text alone would only get through `onError`. */
async function readParts(options: Parameters<typeof streamText>[0]) {
  let reported: unknown;
  const result = streamText({ ...options, onError: ({ error }) => void (reported = error) });
  const finishReasons: string[] = [];
  for await (const part of result.fullStream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'finish-step') finishReasons.push(part.finishReason);
  }
  if (reported !== undefined) throw reported;
  return { result, finishReasons };
}

function toolsOf({ tools = [] }: Question, executed: boolean) {
  return Object.fromEntries(
    tools.map(({ name, parameters, run }) => {
      const described = { description: name, inputSchema: jsonSchema<Record<string, unknown>>(parameters) };
      return [name, executed ? tool({ ...described, execute: (input) => run(input) }) : tool(described)];
    }),
  );
}

interface AiSdkResult {
  text: string;
  toolCalls: { toolName: string; input: unknown }[];
  usage: { inputTokens: number | undefined; outputTokens: number | undefined };
}

const heardOf = ({ text, toolCalls, usage }: AiSdkResult, finishReasons: string[]): Heard => ({
  text,
  // The SDK spells them with a dash.
  finishReasons: finishReasons.map((reason) => reason.replace('-', '_')),
  calls: toolCalls.map((call) => ({ name: call.toolName, arguments: call.input })),
  usage:
    usage.inputTokens === undefined
      ? undefined
      : { input: usage.inputTokens, output: usage.outputTokens ?? Number.NaN },
});

const openLangChain = ({ baseUrl, extra, tools = [] }: Question) =>
  new ChatOpenAI({
    model: 'scripted/model',
    apiKey: 'sk-any',
    maxRetries: 0,
    timeout: 20_000,
    configuration: { baseURL: baseUrl, fetch: fetchWith(extra) },
  }).bindTools(tools.map(({ name, parameters }) => ({ type: 'function', function: { name, parameters } })));

type LangChainAsk = (
  question: Question,
  messages: BaseMessage[],
) => Promise<{ message: AIMessageChunk; reasons: string[] }>;

const langChainWhole: LangChainAsk = async (question, messages) => {
  const message = await openLangChain(question).invoke(messages);
  return { message, reasons: [reasonOf(message)] };
};

const langChainStreamed: LangChainAsk = async (question, messages) => {
  let message: AIMessageChunk | undefined;
  const reasons: string[] = [];
  for await (const chunk of await openLangChain(question).stream(messages)) {
    const reason = reasonOf(chunk);
    if (reason !== '') reasons.push(reason);
    message = message === undefined ? chunk : message.concat(chunk);
  }
  if (message === undefined) throw new Error('LangChain heard nothing');
  return { message, reasons };
};

function reasonOf(message: AIMessageChunk): string {
  const reason: unknown = message.response_metadata['finish_reason'];
  return typeof reason === 'string' ? reason : '';
}

export const langChainJudges: Judge[] = (
  [
    ['LangChain, invoke', langChainWhole],
    ['LangChain, stream', langChainStreamed],
  ] as const
).map(([name, ask]) => ({
  name,
  hear: async (question) => {
    const { message, reasons } = await ask(question, [new HumanMessage(question.content)]);
    const { usage_metadata: usage } = message;
    return {
      text: message.text,
      finishReasons: reasons,
      calls: (message.tool_calls ?? []).map((call) => ({ name: call.name, arguments: call.args })),
      usage: usage && { input: usage.input_tokens, output: usage.output_tokens },
    };
  },
  converse: async (question) => {
    const messages: BaseMessage[] = [new HumanMessage(question.content)];
    for (let round = 0; round < 4; round++) {
      const { message } = await ask(question, messages);
      if ((message.tool_calls ?? []).length === 0) return message.text;
      messages.push(message);
      for (const call of message.tool_calls!) {
        messages.push(
          new ToolMessage({ tool_call_id: call.id!, content: toolNamed(question.tools, call.name).run(call.args) }),
        );
      }
    }
    throw new Error('the loop did not end');
  },
}));

function toolNamed(tools: JudgeTool[] | undefined, name: string): JudgeTool {
  const found = tools?.find((each) => each.name === name);
  if (found === undefined) throw new Error(`a call of '${name}', which nobody offered`);
  return found;
}
