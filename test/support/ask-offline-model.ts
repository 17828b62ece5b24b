// Test support: asks the offline model like a gateway, and the tools for the test requests.
import type { ChatMessage, ToolCall } from '#libs/schemas/message.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import { oneByOne } from './one-by-one.js';
import type { ModelRequest } from '../../apps/gateway/models/model-provider.js';
import { OfflineProvider } from '../../apps/gateway/models/offline/offline-provider.js';

export const dayMs = 86_400_000;
export const now = Date.UTC(2027, 2, 10, 9, 30);
export const provider = new OfflineProvider('offline', () => now);

export type Calls = [name: string, args: unknown][];

export interface Answer {
  text: string;
  calls: Calls;
  finish: string | undefined;
  events: ModelEvent[];
}

export async function ask(
  messages: ChatMessage[],
  tools: ToolDefinition[] = [],
  more: Partial<ModelRequest> = {},
): Promise<Answer> {
  const request: ModelRequest = {
    model: 'offline',
    messages,
    tools,
    stream: true,
    parameters: {},
    unknown: {},
    ...more,
  };
  const signal = new AbortController().signal;
  const events: ModelEvent[] = [];
  for await (const event of oneByOne((take) =>
    provider.call(request, { requestId: 'r', deadline: now + 1000, signal }, take),
  ))
    events.push(event);
  return {
    events,
    text: events.map((event) => (event.type === 'text_delta' ? event.text : '')).join(''),
    calls: events.flatMap((event) =>
      event.type === 'tool_call_end' ? [[event.name, JSON.parse(event.arguments)] as [string, unknown]] : [],
    ),
    finish: events.findLast((event) => event.type === 'message_end')?.finishReason,
  };
}

/** Of an answer that says what was left undone. */
export const undoneMark = /Not done:|没有做：/;

export const user = (content: string): ChatMessage => ({ role: 'user', content });

export function tool(
  name: string,
  properties: Record<string, unknown>,
  about: { description?: string; required?: string[] } = {},
): ToolDefinition {
  const parameters = { type: 'object', properties, required: about.required ?? Object.keys(properties) };
  return {
    name,
    parameters: parameters as ToolDefinition['parameters'] & object,
    ...(about.description === undefined ? {} : { description: about.description }),
  };
}

export const text = { type: 'string' };
export const number = { type: 'number' };
export const whole = { type: 'integer' };
export const readFile = tool('read_file', { path: text }, { description: '读取文件' });
export const writeFile = tool('write_file', { path: text, content: text }, { description: 'Write text to a file' });
export const editFile = tool(
  'edit_file',
  { path: text, old_text: text, new_text: text },
  { description: 'Replace a passage of a UTF-8 text file.' },
);
export const fetchTool = tool('fetch', { url: text }, { description: 'Fetch a URL' });
export const loadDocument = tool(
  'load_document',
  { location: { type: 'string', description: 'path of the document' } },
  { description: 'Loads a document from disk' },
);
export const openDoc = tool('open_doc', { doc: text });
export const chineseRead = tool('读取文档', { 路径: text }, { description: '读取文档内容' });
export const storeText = tool(
  'store_text',
  { destination: text, body: text },
  { description: 'Stores text at a destination file' },
);
export const httpGet = tool(
  'http_get',
  { target: { type: 'string', format: 'uri' } },
  { description: 'HTTP GET request' },
);
export const listDirectory = tool(
  'list_directory',
  { path: text },
  { description: 'List the entries of a directory', required: [] },
);
export const deleteFile = tool('delete_file', { path: text }, { description: 'Delete a file' });
export const moveFile = tool(
  'move_file',
  { source: text, destination: text },
  { description: 'Move or rename a file' },
);
export const weather = tool(
  'get_weather',
  { city: text, unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } },
  { description: 'Current weather', required: ['city'] },
);
export const sendEmail = tool('send_email', { to: text, subject: text, body: text }, { description: 'Send an email' });
export const convertCurrency = tool(
  'convert_currency',
  { amount: number, from: text, to: text },
  { description: 'Convert between currencies' },
);
export const createEvent = tool(
  'create_event',
  { title: text, start: { type: 'string', format: 'date-time' } },
  { description: 'Create a calendar event' },
);
export const searchDocs = tool(
  'search_docs',
  { q: text, limit: whole },
  { description: 'Search the documentation', required: ['q'] },
);
export const setLight = tool(
  'set_light',
  { room: text, on: { type: 'boolean' }, brightness: { type: 'integer', minimum: 0, maximum: 100 } },
  { description: '控制房间的灯', required: ['room', 'on'] },
);
export const getStock = tool('get_stock', { symbols: { type: 'array', items: text } }, { description: 'Stock quotes' });
export const answerQuestion = tool(
  'answer_question',
  { question: text },
  { description: 'Analyzes and answers a question' },
);
export const listSettings = tool(
  'list_settings',
  { category: { type: 'string', default: 'all' }, format: { type: 'string', default: 'json' } },
  { description: 'Lists all parameters', required: [] },
);
export const clock = tool('clock_now', { offset_ms: number }, { description: 'Current time, shifted' });
export const hourClock = tool('current_time', { offset_hours: whole }, { description: '返回当前时间' });
export const zoneClock = tool(
  'get_time',
  { timezone: text, offset_ms: number },
  { description: 'Get the time', required: [] },
);
export const translate = tool('translate_text', { text, target_language: text }, { description: 'Translate text' });
export const calculator = tool('calculator', { expression: text }, { description: 'Evaluate an expression' });
export const summarize = tool('summarize_text', { text }, { description: 'Summarize a text' });
export const everything = [
  readFile,
  writeFile,
  fetchTool,
  listDirectory,
  deleteFile,
  moveFile,
  weather,
  sendEmail,
  convertCurrency,
  createEvent,
  searchDocs,
  setLight,
  getStock,
  clock,
  translate,
  calculator,
];

/** Runs the loop like a gateway or caller, with canned results by tool name. */
export async function converse(
  request: string,
  tools: ToolDefinition[],
  results: Record<string, string | ((args: never) => string)>,
  failing: string[] = [],
): Promise<Answer & { all: Calls }> {
  const messages = [user(request)];
  const all: Calls = [];
  for (let round = 0; round < 12; round += 1) {
    const answer = await ask(messages, tools);
    if (answer.calls.length === 0) return { ...answer, all };
    const calls: ToolCall[] = answer.calls.map(([name, args], at) => ({
      id: `c${round}_${at}`,
      type: 'function',
      function: { name, arguments: JSON.stringify(args) },
    }));
    messages.push({ role: 'assistant', content: null, tool_calls: calls });
    for (const [at, [name, args]] of answer.calls.entries()) {
      const result = results[name] ?? 'ok';
      messages.push({
        role: 'tool',
        tool_call_id: `c${round}_${at}`,
        content: typeof result === 'string' ? result : result(args as never),
        ...(failing.includes(name) ? { is_error: true } : {}),
      });
    }
    all.push(...answer.calls);
  }
  throw new Error('the model never stopped calling');
}
