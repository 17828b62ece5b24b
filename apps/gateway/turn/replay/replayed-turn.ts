// What a replay is made of, from a stored run: its calls, its conversation, the tools that its model is offered, and ports for the
// loop that ask nobody and run nothing.
import type { RunStore, StoredRound, StoredRun } from '#libs/runs/run-store.js';
import { AppError } from '#libs/schemas/errors.js';
import type { ChatMessage } from '#libs/schemas/message.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ToolCatalog } from '../../tools/tool-catalog.js';
import { realTool } from '../../tools/tool-of-call.js';
import type { TurnPorts } from '../loop.js';
import { offeredTool, type OfferSettings, offerTools, type ToolOffer } from '../offer-tools.js';
import { conversationOf } from '../runs/restore-history.js';
import { offerFound } from '../offer/recall-found.js';
import { advancesDetached } from '../runs/run-errors.js';
import type { TurnRecord } from '../turn.js';
import { requestOf, type TurnRequest } from '../turn-request.js';
import type { RecordedCalls } from './recorded-calls.js';

/** What a replay changes. */
export interface ReplayChanges {
  /** Another model than the run's, by the name that a request would give. */
  model?: string | undefined;
  /** They replace the whole conversation before the first model call. */
  messages?: ChatMessage[] | undefined;
}

/** @throws AppError invalid_value, run_in_progress, turn_expired (410) for a run that cannot be replayed */
export async function recordedRounds(run: StoredRun, runs: Pick<RunStore, 'rounds'>): Promise<StoredRound[]> {
  if (requestOf(run).call !== undefined) {
    throw new AppError('invalid_value', 'This run is one tool call, for which no model was asked', { param: 'id' });
  }
  if (run.state === 'running' || advancesDetached(run)) {
    throw new AppError('run_in_progress', 'This run has not ended: wait for its end, or cancel it');
  }
  const rounds = await runs.rounds(run.id);
  if (run.state === 'done' && rounds.length === 0) {
    throw new AppError('turn_expired', 'The rounds of this run are no longer stored', { http: 410 });
  }
  return rounds;
}

/**
 * The request of a replay, with the whole conversation among its messages: restored once, because replays look nothing up.
 * @throws AppError turn_expired (410) if earlier turns of the conversation are no longer stored
 */
export async function replayedRequest(
  run: StoredRun,
  { model, messages }: ReplayChanges,
  runs: RunStore,
): Promise<TurnRequest> {
  const { instructions, history, store: _store, echo: _echo, ...request } = requestOf(run);
  const asked = model ?? request.model ?? run.model;
  if (asked !== undefined) request.model = asked;
  if (messages !== undefined) request.messages = messages;
  else if (run.replayOf === undefined) {
    const whole = {
      ...request,
      ...(instructions === undefined ? {} : { instructions }),
      ...(history === undefined ? {} : { history }),
    };
    request.messages = await restored(whole, run.principal, runs);
  }
  request.onDisconnect = 'cancel';
  return request;
}

async function restored(request: TurnRequest, principal: string, runs: RunStore): Promise<ChatMessage[]> {
  try {
    return (await conversationOf(request, principal, runs)).messages;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'turn_expired') throw error;
    const message = 'Earlier turns of this conversation are no longer stored: replay it with messages of your own';
    throw new AppError('turn_expired', message, { http: 410 });
  }
}

export interface ReplayedTools {
  original: StoredRun;
  /** The tools that the caller may use. */
  view: ToolCatalog;
  whole: ToolCatalog;
  recorded: readonly StoredRound[];
  settings: OfferSettings;
}

/**
 * The tools that the caller may use, and those that the run used: what a draft of the policy is to judge must not be hidden by the
 * policy in force. @throws AppError tool_not_found (400), too_many_tools
 */
export async function replayedOffer(
  request: TurnRequest,
  { original, view, whole, recorded, settings }: ReplayedTools,
  runs: Pick<RunStore, 'foundTools'>,
): Promise<ToolOffer> {
  const used = new Set<string>();
  for (const { kind, state, server, tool } of recorded.flatMap(({ calls }) => calls)) {
    if (kind === 'server' && state !== 'denied') used.add(`${server}/${tool}`);
  }
  const isOffered = (tool: CatalogTool) =>
    used.has(`${tool.server}/${tool.tool}`) || view.find(realTool(tool).name) !== undefined;
  const lists = new Map<string | undefined, CatalogTool[]>();
  const list = (label?: string) => {
    let listed = lists.get(label);
    if (listed === undefined) lists.set(label, (listed = whole.list(label).filter(isOffered)));
    return listed;
  };
  const catalog: ToolCatalog = {
    find: (name, toolset) =>
      view.find(name, toolset) ?? [whole.find(name, toolset)].find((tool) => tool !== undefined && isOffered(tool)),
    list,
    hasServer: (server) => view.hasServer(server) || list(server).length > 0,
    isToolset: (label) => whole.isToolset(label),
    search: (query, options, toolset) =>
      whole.search(query, { ...options, isShown: (tool) => options.isShown(tool) && isOffered(tool) }, toolset),
    version: '',
  };
  // Approvals that the request requires are not asked for: the recorded ones are shown.
  const tools = request.tools.map((tool) => {
    if (tool.type !== 'mcp') return tool;
    const { requireApproval: _asked, ...entry } = tool;
    return entry;
  });
  const offer = offerTools({ ...request, tools }, catalog, settings);
  const { principal, sessionId, createdAt: before } = original;
  await offerFound({ offer, request: sessionId === undefined ? {} : { sessionId }, principal, before }, runs);
  // A tool that was hidden from the model is not shown to it now. If it is called all the same, it is refused as it was then.
  for (const { kind, state, name } of recorded.flatMap(({ calls }) => calls)) {
    const tool =
      kind === 'server' && state === 'denied' && offeredTool(offer, name) === undefined ? whole.find(name) : undefined;
    if (tool === undefined) continue;
    const { description, inputSchema: parameters } = tool;
    offer.tools.set(name, { definition: { name, description, parameters }, tool });
  }
  return offer;
}

const nothingIsAsked = () => Promise.reject(new Error('a replay asked for something'));

/** Models are called and paid as in any turn; everything else is recorded. */
export function replayPorts(
  recorded: RecordedCalls,
  { models, limits, validator, budgets }: Pick<TurnPorts, 'models' | 'limits' | 'validator' | 'budgets'>,
): TurnPorts {
  return {
    models,
    limits,
    validator,
    budgets,
    runner: recorded,
    decide: recorded.decide,
    deniedTool: () => undefined,
    notes: { write: () => Promise.resolve() },
    approvalRoom: { approvalOf: nothingIsAsked },
    approvals: { decided: nothingIsAsked, notify: () => undefined },
    waitStore: { byIds: () => Promise.resolve([]) },
    questions: { open: () => Promise.resolve([]) },
    journal: { get: () => Promise.resolve(undefined), plan: nothingIsAsked },
  };
}

/** The same record, in which every call is one of a replay: no job and no row of the audit. */
export const replayRecord = (record: TurnRecord, recorded: RecordedCalls): TurnRecord => ({
  emit: (events) => record.emit(events),
  commit: (round, calls) =>
    record.commit(
      round,
      calls.map(({ job: _job, ...call }) => ({ ...call, replayed: recorded.factsOf(call.id) })),
    ),
  finish: (done, round) => record.finish(done, round),
});
