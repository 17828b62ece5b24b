// Test support: the official SDK's responses API: whole answers, iterated streams and its accumulator, one set per major
// version; tool loops by previous response and by items.
import OpenAI from 'openai';
import type {
  FunctionTool,
  Response,
  ResponseInputItem,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses';
import { fetchWith, type Heard, type Judge, type JudgeTool, type Question } from './chat-judge.js';
import { openAiMajors } from './newest-sdk.js';

interface Body {
  model: string;
  input: string | ResponseInputItem[];
  tools?: FunctionTool[];
  previous_response_id?: string;
}
type Ask = (client: OpenAI, body: Body) => Promise<Response>;

const ways: [string, Ask][] = [
  ['whole', (client, body) => client.responses.create(body)],
  ['iterated', async (client, body) => readEvents(await client.responses.create({ ...body, stream: true }))],
  ['.stream()', (client, body) => client.responses.stream(body).finalResponse()],
];

export const responsesJudges: Judge[] = openAiMajors(OpenAI).flatMap(([major, Client]) =>
  ways.map(([way, ask]): Judge => {
    const open = ({ baseUrl, extra }: Question) =>
      new Client({
        baseURL: `${baseUrl}/v1`,
        apiKey: 'sk-any',
        maxRetries: 0,
        timeout: 20_000,
        fetch: fetchWith(extra),
      });
    return {
      name: `openai ${major}, ${way}`,
      hear: async (question) => heardOf(await ask(open(question), bodyOf(question))),
      converse: async (question) => {
        const byId = await converse(open(question), ask, question, true);
        const byItems = await converse(open(question), ask, question, false);
        if (byId !== byItems) throw new Error(`told two things: ${byId}, ${byItems}`);
        return byId;
      },
    };
  }),
);

const bodyOf = ({ content, tools = [] }: Question): Body => ({
  model: 'scripted/model',
  input: content,
  ...(tools.length === 0 ? {} : { tools: tools.map(toTool) }),
});

const toTool = ({ name, parameters }: JudgeTool): FunctionTool => ({
  type: 'function',
  name,
  parameters,
  strict: null,
});

/** Runs until the model stops calling: with new items and the previous response, or with all items each time. */
async function converse(client: OpenAI, ask: Ask, question: Question, byId: boolean): Promise<string> {
  const body = bodyOf(question);
  let input: ResponseInputItem[] = [{ role: 'user', content: question.content }];
  let previous: string | undefined;
  for (let turn = 0; turn < 4; turn++) {
    const response = await ask(client, {
      ...body,
      input,
      ...(previous === undefined ? {} : { previous_response_id: previous }),
    });
    const calls = response.output.flatMap((item) => (item.type === 'function_call' ? [item] : []));
    if (calls.length === 0) return response.output_text;
    const results = calls.map((call): ResponseInputItem => {
      const tool = question.tools!.find(({ name }) => name === call.name)!;
      return { type: 'function_call_output', call_id: call.call_id, output: tool.run(JSON.parse(call.arguments)) };
    });
    if (byId) previous = response.id;
    input = byId ? results : [...input, ...(response.output as ResponseInputItem[]), ...results];
  }
  throw new Error('the model does not stop calling');
}

function heardOf(response: Response): Heard {
  if (response.object !== 'response' || response.error !== null) throw new Error('not a response');
  return {
    text: response.output
      .flatMap((item) => (item.type === 'message' ? item.content : []))
      .flatMap((part) => (part.type === 'output_text' ? part.text : []))
      .join('\n\n'),
    finishReasons: [response.status!],
    calls: response.output.flatMap((item) =>
      item.type === 'function_call' ? [{ name: item.name, arguments: JSON.parse(item.arguments) as unknown }] : [],
    ),
    usage: response.usage && { input: response.usage.input_tokens, output: response.usage.output_tokens },
  };
}

/** Reads the events as documented: the combined deltas must equal the last event. */
async function readEvents(events: AsyncIterable<ResponseStreamEvent>): Promise<Response> {
  const texts = new Map<string, string>();
  let number = 0;
  let last: Response | undefined;
  for await (const event of events) {
    if (event.sequence_number !== number++) throw new Error(`event ${event.sequence_number} came as number ${number}`);
    if (last !== undefined) throw new Error(`${event.type} after the end`);
    if (event.type === 'response.output_text.delta' || event.type === 'response.function_call_arguments.delta') {
      texts.set(event.item_id, (texts.get(event.item_id) ?? '') + event.delta);
    }
    if (event.type === 'response.completed' || event.type === 'response.incomplete') last = event.response;
  }
  if (last === undefined) throw new Error('the stream ended without its last event');
  for (const item of last.output) {
    const text = item.type === 'function_call' ? item.arguments : undefined;
    const said = item.type === 'message' && item.content[0]?.type === 'output_text' ? item.content[0].text : text;
    if (said !== undefined && texts.get(item.id!) !== said)
      throw new Error(`the deltas of ${item.id} are another text`);
  }
  const output_text = last.output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('');
  return { ...last, output_text };
}
