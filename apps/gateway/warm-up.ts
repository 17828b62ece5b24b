// Runs the whole path of a chat before the first caller arrives, so that the code is compiled by then. Everything around it
// is fake: nothing leaves the process, nothing is stored, and the metrics are discarded.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApprovalStore } from '#libs/approvals/approval-store.js';
import type { SamplingDesk } from './tools/calls/dispatch-services.js';
import type { Channels } from '#libs/backing/channels.js';
import { type Config, providerSchema } from '#libs/config/schema.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { silentLogger } from '#libs/logging/logger.js';
import { createMetrics } from '#libs/metrics/metrics.js';
import { TurnClocks } from '#libs/metrics/turn-clocks.js';
import type { EventLog, Journal, NewRun, RunStore, StoredRun } from '#libs/runs/run-store.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { type ChatPorts, ChatService } from './chat/chat-service.js';
import { RunCancels } from './chat/runs/run-cancels.js';
import { mapToolNames, namesIn } from './models/conversation/tool-names.js';
import { Warnings } from './models/conversation/warnings.js';
import type { ModelProvider } from './models/model-provider.js';
import { openAiFamily } from './models/openai/openai-family.js';
import { ModelCallMeasure } from './models/routing/measure-model-calls.js';
import { createModelRouter } from './models/routing/model-router.js';
import { readAnswer } from './models/wire/read-answer.js';
import { createErrorReader } from './models/wire/read-upstream-error.js';
import { readChatRequest } from './openai-api/read-request.js';
import { CompletionFold } from './openai-api/render-json.js';
import { OpenAiSseRenderer } from './openai-api/render-sse.js';
import type { Approvals } from './tools/approvals/approvals.js';
import { ServerCall } from './tools/calls/server-call.js';
import { CompiledArgumentValidator } from './tools/catalog/compiled-argument-validator.js';

/** For each kind of request. Functions are compiled at their first call. */
const turnsOfEach = 2;
const turnMs = 10_000;
const provider = 'warm-up';
const done = () => Promise.resolve();

const times = { timeoutMs: turnMs, maxTimeoutMs: turnMs };
const grades = { annotations: {}, definitionHash: '', available: true, safe: true, readOnly: true };
const inputSchema = { type: 'object', properties: { text: { type: 'string' } } };
const tool: CatalogTool = { server: 'warm', tool: 'up', name: 'up', description: '', inputSchema, ...grades, ...times };
const messages = [{ role: 'user', content: 'Hello' }];
const withTool = { messages, tools: [{ type: 'mcp', server_label: tool.server }] };
const bodies = [{ messages }, withTool].flatMap((body) =>
  [false, true].map((stream) => JSON.stringify({ ...body, stream })),
);

const choice = (member: 'message' | 'delta', said: object, finish_reason: string) =>
  JSON.stringify({
    id: 'c',
    model: 'm',
    choices: [{ index: 0, [member]: { role: 'assistant', ...said }, finish_reason }],
  });
const asks = { tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: tool.name, arguments: '{}' } }] };

/** The bytes with which an upstream would answer the request. */
function bytesFor({ stream, tools, messages }: Parameters<ModelProvider['call']>[0]): Uint8Array {
  const calls = tools.length > 0 && messages.at(-1)!.role === 'user';
  const answer = choice(
    stream ? 'delta' : 'message',
    calls ? asks : { content: 'Hello' },
    calls ? 'tool_calls' : 'stop',
  );
  return Buffer.from(stream ? `data: ${answer}\n\ndata: [DONE]\n\n` : answer);
}

/** An OpenAI-compatible provider without the network. */
function withoutNetwork(): ModelProvider {
  const family = openAiFamily(providerSchema.parse({ kind: 'openai' }));
  const errors = createErrorReader({ provider, secrets: [], readError: (body) => family.readError(body) });
  return {
    name: provider,
    async call(request, _call, take) {
      const names = mapToolNames(namesIn(request), family.toolNames);
      const { reader } = family.toRequest(request, { provider, errors, names, warnings: new Warnings() });
      const answer = {
        headers: { 'content-type': request.stream ? 'text/event-stream' : 'application/json' },
        read: async (push: (bytes: Uint8Array) => unknown) => void (await push(bytesFor(request))),
        hurry: () => undefined,
      };
      await readAnswer(answer, reader, { provider, maxEventChars: 10_000 }, take);
    },
    countTokens: () => Promise.resolve(0),
    listModels: () => Promise.resolve([]),
    close: done,
  };
}

const argumentBounds = { maxArgumentBytes: 1_000, maxSchemaBytes: 1_000, maxSchemaDepth: 10 };

const begin = (run: NewRun): ReturnType<RunStore['begin']> => {
  const stored = { state: 'running', createdAt: new Date(), endedAt: null, usage: {}, answer: null, error: null };
  return Promise.resolve({ created: true, run: { ...run, ...stored } as StoredRun });
};

function ports(): ChatPorts {
  const metrics = createMetrics({ processMetrics: false });
  const measuring = { metrics, clocks: new TurnClocks(), logger: silentLogger };
  const measure = new ModelCallMeasure(measuring);
  const offline = withoutNetwork();
  return {
    models: createModelRouter({ providers: {}, aliases: {}, prices: {} }, { logger: silentLogger, offline, measure }),
    runner: {
      plan: (tool, args, context) => new ServerCall({ tool, arguments: args, replyTo: provider }, context),
      run: () => Promise.resolve({ state: 'completed', blocks: [{ type: 'text', text: 'Hello' }], durationMs: 0 }),
      skip: done,
      hasWorker: () => true,
    },
    catalogOf: () => ({ find: () => tool, list: () => [tool], hasServer: () => true, version: '' }),
    validator: new CompiledArgumentValidator(argumentBounds, silentLogger),
    decide: () => ({ effect: 'allow', rule: 'default' }),
    // No call needs one.
    approval: { expiresMs: turnMs, notify: false },
    approvalRoom: { refusalOf: () => Promise.resolve(undefined) },
    approvals: {} as Approvals,
    approvalStore: {} as ApprovalStore,
    questions: {} as SamplingDesk,
    journal: {} as Journal,
    deniedTool: () => undefined,
    notes: { write: done },
    budgets: { spentBy: () => undefined, knownSpent: () => undefined },
    // Of the store and the channels, all that a new turn uses.
    runs: { begin, planRound: done, end: () => Promise.resolve(true) } as Partial<RunStore> as RunStore,
    log: { append: done } as Partial<EventLog> as EventLog,
    channels: {} as Channels,
    cancels: new RunCancels(),
    announce: () => undefined,
    endLater: () => undefined,
    measuring,
    logger: silentLogger,
  };
}

/** Yields to the event loop between turns, so that real requests are served. Ends early if the signal aborts. */
export async function warmUp(config: Config, signal: AbortSignal): Promise<void> {
  const chat = new ChatService(ports(), config, provider);
  for (let turn = 0; turn < turnsOfEach * bodies.length && !signal.aborted; turn += 1) {
    await answer(chat, bodies[turn % bodies.length]!, config);
    await nextTurn();
  }
}

async function answer(chat: ChatService, body: string, { limits }: Config): Promise<void> {
  const request = readChatRequest(JSON.parse(body), 'openai', limits);
  const stop = new AbortController();
  const until = { signal: stop.signal, deadline: steadyNow() + turnMs, abort: (reason: Error) => stop.abort(reason) };
  const context = { principal: provider, requestId: provider, ...until };
  const started = await chat.start({ request, context });
  const rendering = { id: started.runId, created: 0 };
  const renderer = new OpenAiSseRenderer(rendering, request.includeUsage);
  const fold = new CompletionFold(rendering);
  await started.tell((batch) => {
    for (const { event } of batch)
      if (request.stream) renderer.render(event);
      else fold.add(event);
    return undefined;
  });
  if (!request.stream) JSON.stringify(fold.answer);
}
