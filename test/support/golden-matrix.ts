// Test support: runs one case of test/golden with one family, in process: the upstream request, the parsed answer, and what
// the caller gets. Everything in between is product code: chat API, loop, family, renderer.
import { configSchema } from '#libs/config/schema.js';
import type { PlannedRound } from '#libs/runs/run-store.js';
import { toAppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { AssistantMessage, ChatMessage, ToolMessage } from '#libs/schemas/message.js';
import { renderError } from '#libs/http-server/render-error.js';
import { runTurn, type TurnPorts } from '../../apps/gateway/turn/loop.js';
import type { Turn } from '../../apps/gateway/turn/turn.js';
import { forever } from './runnable-call.js';
import { namedIn } from '../../apps/gateway/turn/offer/found-tools.js';
import { findToolsName, toolSearchForm } from '../../apps/gateway/turn/offer/tool-search.js';
import { offerTools } from '../../apps/gateway/turn/offer-tools.js';
import { toAssistant } from '../../apps/gateway/turn/runs/restore-history.js';
import { TurnState } from '../../apps/gateway/turn/turn-state.js';
import type { TurnRequest } from '../../apps/gateway/turn/turn-request.js';
import type { ModelRequest, ModelRouter } from '../../apps/gateway/models/model-provider.js';
import { PromptedProvider } from '../../apps/gateway/models/prompted/prompted-provider.js';
import { readChatRequest } from '../../apps/gateway/openai-api/read-request.js';
import { CompletionFold } from '../../apps/gateway/openai-api/render-json.js';
import type { ToolCatalog } from '../../apps/gateway/tools/tool-catalog.js';
import type { Kind } from '../fixtures/read-family.js';
import { type GoldenExchange, GoldenProvider, type GoldenUpstream } from './golden-provider.js';

export const goldenFamilies = ['openai', 'responses', 'anthropic', 'gemini', 'prompted'] as const;
export type GoldenFamilyName = (typeof goldenFamilies)[number];

export interface GoldenCase {
  about: string;
  /** Where the upstreams' answers come from. */
  provenance: string;
  /** As posted to `/v1/chat/completions`. */
  request: JsonObject;
  /** The results of each answer's calls; each entry causes one more request. */
  then?: Omit<ToolMessage, 'role' | 'tool_call_id'>[][];
  models?: Partial<Record<GoldenFamilyName, string>>;
  settings?: Partial<Record<GoldenFamilyName, JsonObject>>;
  /** Of the tools, a model call offers `find_tools` and those that the conversation names, as for tools of servers. */
  search?: true;
  /** Why the caller's answer differs between families. */
  differs?: string;
}

/** A complete answer, or a status and a body. */
export type GoldenAnswer = JsonObject;

export interface GoldenOutcome {
  sends: GoldenExchange['sends'][];
  reads: JsonObject[][];
  gets: GoldenAnswer[];
}

const models: Record<GoldenFamilyName, string> = {
  openai: 'gpt-5.2',
  responses: 'gpt-5.5',
  anthropic: 'claude-opus-4-5',
  gemini: 'gemini-2.5-flash',
  prompted: 'tiny',
};
const config = configSchema.parse({});
const { limits } = config;
/** All tools belong to the caller, so the catalog is unused. */
const catalog = {} as ToolCatalog;

/** No tool runs here, so the other ports are unused. */
type UsedPorts = Pick<TurnPorts, 'limits'> & { models: Pick<ModelRouter, 'call'> };

export interface GoldenRun {
  family: GoldenFamilyName;
  upstreams: readonly GoldenUpstream[];
  stream: boolean;
  split: number;
}

export async function runGolden(golden: GoldenCase, run: GoldenRun): Promise<GoldenOutcome> {
  const { family, upstreams, stream, split } = run;
  const kind: Kind = family === 'prompted' ? 'openai' : family;
  const inner = new GoldenProvider({ kind, split, settings: golden.settings?.[family] ?? {} }, upstreams);
  const provider = family === 'prompted' ? new PromptedProvider(inner, 'prompted') : inner;
  const model = golden.models?.[family] ?? models[family];
  const given = readChatRequest({ ...golden.request, stream }, 'openai', limits);
  const gets: GoldenAnswer[] = [];
  let request = given;
  for (const results of [...(golden.then ?? []), undefined]) {
    const rounds: Omit<PlannedRound, 'runId' | 'lastEvent'>[] = [];
    const state = new TurnState([...request.messages], limits, limits.rounds, forever);
    const ports: UsedPorts = {
      limits,
      models: {
        call(_route, asked, call, take) {
          const searching = golden.search === true ? searched(asked) : asked;
          return provider.call({ ...searching, model }, call, take);
        },
      },
    };
    const answer = await answered(request, state, ports as unknown as TurnPorts, rounds);
    gets.push(answer);
    if (results === undefined || answer['error'] !== undefined) break;
    request = followUp(request, reported(answer, rounds[0]), results);
  }
  const reads = inner.exchanges.map((exchange) => exchange.reads);
  return withoutMintedIds({ sends: inner.exchanges.map(({ sends }) => sends), reads, gets });
}

function searched(asked: Omit<ModelRequest, 'model'>): Omit<ModelRequest, 'model'> {
  const offered = new Set([findToolsName, ...namedIn(asked.messages, 0, findToolsName)]);
  return { ...asked, search: toolSearchForm, tools: asked.tools.filter(({ name }) => offered.has(name)) };
}

async function answered(
  request: TurnRequest,
  state: TurnState,
  ports: TurnPorts,
  rounds: Omit<PlannedRound, 'runId' | 'lastEvent'>[],
): Promise<GoldenAnswer> {
  const context = {
    principal: 'p',
    requestId: 'req_1',
    signal: new AbortController().signal,
    deadline: forever,
  };
  const turn: Turn = {
    runId: 'run_1',
    sessionId: 'sess_1',
    request,
    context,
    route: { candidates: [] },
    offer: offerTools(request, catalog, config),
    state,
    announce: true,
    open: [],
  };
  const fold = new CompletionFold({ id: 'chatcmpl-1', created: 1 });
  try {
    await runTurn(turn, ports, {
      emit(events) {
        for (const event of events) fold.add(event);
        return undefined;
      },
      commit: (round, calls) => Promise.resolve(void rounds.push({ ...round, calls })),
      finish: (done) => Promise.resolve(fold.add(done)),
    });
    const { id: _, created: __, object: ___, ...shown } = fold.answer;
    return shown;
  } catch (thrown) {
    const error = toAppError(thrown);
    const { retryAfterSeconds: seconds } = error;
    return {
      status: error.http,
      ...(seconds !== undefined && { headers: { 'retry-after': String(seconds) } }),
      ...renderError(error, context.requestId),
    };
  }
}

/** The answer as the model sees it next: from the store if a round was kept, otherwise as posted by the caller. */
function reported(
  answer: GoldenAnswer,
  round: Omit<PlannedRound, 'runId' | 'lastEvent'> | undefined,
): AssistantMessage {
  if (round !== undefined) return toAssistant({ ...round, runId: 'run_1', lastEvent: 0, calls: [] });
  return (answer['choices'] as { message: AssistantMessage }[] | undefined)![0]!.message;
}

function followUp(
  request: TurnRequest,
  message: AssistantMessage,
  results: NonNullable<GoldenCase['then']>[number],
): TurnRequest {
  const calls = message.tool_calls ?? [];
  const { toolChoice: _, ...rest } = request;
  const messages: ChatMessage[] = [
    ...request.messages,
    message,
    ...results.map((result, at): ToolMessage => ({ ...result, role: 'tool', tool_call_id: calls[at]!.id })),
  ];
  return { ...rest, messages };
}

/** Replaces generated ids, which differ in every run, by numbers in order of appearance. */
function withoutMintedIds(outcome: GoldenOutcome): GoldenOutcome {
  const ids = new Map<string, string>();
  const text = JSON.stringify(outcome).replace(/call_[0-9A-Za-z_-]{16,}/g, (id) => {
    if (!ids.has(id)) ids.set(id, `call_made_here_${ids.size + 1}`);
    return ids.get(id)!;
  });
  return JSON.parse(text) as GoldenOutcome;
}
