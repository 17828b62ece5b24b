import { afterEach, expect } from 'vitest';
import { configSchema } from '#libs/config/schema.js';
import { silentLogger } from '#libs/logging/logger.js';
import type { ChatMessage, MessageContent } from '#libs/schemas/message.js';
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import { foldEvents } from '../../../../test/support/collect-model-events.js';
import { oneByOne } from '../../../../test/support/one-by-one.js';
import { type ScriptedUpstream, startScriptedUpstream } from '../../../../test/support/scripted-upstream.js';
import { verifies } from '../../../../test/verifies.js';
import type { ModelRouter, RoutedModelEvent } from '../model-provider.js';
import { createModelRouter } from '../routing/model-router.js';
import { OfflineProvider } from '../offline/offline-provider.js';

let upstream: ScriptedUpstream;
let router: ModelRouter;
afterEach(async () => {
  await router.close();
  await upstream.close();
});

async function ask(messages: ChatMessage[], { tools = [] as ToolDefinition[], model = 'small/m', more = {} } = {}) {
  upstream = await startScriptedUpstream(() => ({ text: 'answered' }));
  const small = { kind: 'openai', base_url: upstream.baseUrl, context_window: 10, ...more };
  const { models } = configSchema.parse({
    models: {
      providers: { small, large: { ...small, context_window: 1_000 } },
      aliases: { either: ['small/m', 'large/m'] },
    },
  });
  router = createModelRouter(models, { logger: silentLogger, offline: new OfflineProvider() });
  const request = { messages, tools, stream: true, parameters: {}, unknown: {} };
  const call = { requestId: 'r', deadline: Date.now() + 20_000, signal: new AbortController().signal };
  const events: RoutedModelEvent[] = [];
  for await (const event of oneByOne<RoutedModelEvent>((take) =>
    router.call(router.resolve(model), request, call, take),
  ))
    events.push(event);
  const error = events.find((event) => event.type === 'error');
  return { code: error?.error.code, text: foldEvents(events).text, asked: upstream.requests.length };
}

const words = (count: number) => Array.from({ length: count }, () => 'a').join(' \n');
const user = (content: MessageContent): ChatMessage => ({ role: 'user', content });
const refused = { code: 'context_length_exceeded', text: '', asked: 0 };
const answered = { code: undefined, text: 'answered', asked: 1 };

verifies('models.context-window', 'a word more than tokens, wherever it stands', async () => {
  const call = { id: 'c', type: 'function' as const, function: { name: 'f', arguments: '{"a": 1}' } };
  const tool: ToolDefinition = { name: 'f', description: words(2) };
  const cases: [messages: ChatMessage[], tools?: ToolDefinition[]][] = [
    [[user(words(11))]],
    [[user(words(6)), user([{ type: 'text', text: words(5) }])]],
    [[user(words(9)), { role: 'assistant', content: null, tool_calls: [call] }]],
    [[user(words(9))], [tool]],
  ];
  for (const [messages, tools = []] of cases) {
    expect(await ask(messages, { tools })).toEqual(refused);
    await router.close();
    await upstream.close();
  }
  // The rules of prompted tools count as words of the request.
  expect(await ask([user('hi')], { tools: [tool], more: { tools: 'prompted' } })).toEqual(refused);
});

verifies('models.context-window', 'what may fit is for the upstream to judge', async () => {
  for (const content of [words(10), 'x'.repeat(100_000), '字'.repeat(1_000)]) {
    expect(await ask([user(content)])).toEqual(answered);
    await router.close();
    await upstream.close();
  }
  const picture = { type: 'image_url' as const, image_url: { url: `data:image/png;base64,${'A'.repeat(1_000)}` } };
  expect(await ask([user([picture])])).toEqual(answered);
});

verifies('models.context-window', 'a list goes on with the next entry', async () => {
  expect(await ask([user(words(11))], { model: 'either' })).toEqual(answered);
});
