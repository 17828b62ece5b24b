// What a call waits for outside of this gateway: the decision, answer or sign-in of people, by libs/waits, or the end of the call in
// another process. A caller that stays (`hold`) gets an event. Any other caller is given a call of a reserved function,
// and the turn that answers that call continues the open round. Only the stored call runs, never the caller's copy of a call.
// Decisions are taken in govern/waits.ts.
import { setTimeout as delay } from 'node:timers/promises';
import { maxReasonLength, shownWait, type Wait, type WaitDecision } from '#libs/waits/wait.js';
import { reservedNames, waitKinds } from '#libs/waits/wait-kinds.js';
import type { Journal, StoredCall, StoredRound } from '#libs/runs/run-store.js';
import type { CallContext, RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintCallId } from '#libs/schemas/identifiers.js';
import { isJsonObject, type JsonObject, jsonObjectOf } from '#libs/schemas/json.js';
import { isEnded, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { Waits } from '../govern/waits.js';
import type { CallNumbering } from './assemble-message.js';
import { Call } from './call.js';
import type { SamplingDesk } from './dispatch/dispatch-services.js';
import type { ToolProgress } from './dispatch/tool-runner.js';

/** The call of the reserved function that asks for the approval of `call`. */
export function approvalRequest({ approval, context, toolName, arguments: args, policyRule }: Call): Call {
  const { id, reason = null, expiresMs } = approval!;
  const members = { id, tool: toolName, arguments: args, rule: policyRule ?? null, reason };
  const expires = new Date(Date.now() + expiresMs).toISOString();
  return request('approval', { ...members, expires_at: expires }, context);
}

/** The call of the reserved function that asks for what a call waits for since a worker had it. */
export function waitRequest(wait: Wait, context: CallContext): Call {
  return request(wait.kind, shownWait(wait), context);
}

function request(kind: Wait['kind'], members: JsonObject, context: CallContext): Call {
  const call = new Call(mintCallId(true), waitKinds[kind].requestName!);
  call.sentText = JSON.stringify(chosen(members, waitKinds[kind].request));
  return call.of('client', context);
}

/** Those of the members that are not null. */
const chosen = (members: JsonObject, names: readonly string[] = []): JsonObject =>
  Object.fromEntries(names.flatMap((name) => (members[name] == null ? [] : [[name, members[name]]])));

/** The events that give calls of the reserved function to the caller. */
export function requestEvents(requests: readonly Call[], numbering: CallNumbering): TurnEvent[] {
  return requests.map((call) => {
    call.emitted = true;
    call.number = numbering.calls++;
    call.clientNumber = numbering.clientCalls++;
    const { id, name, argumentsText, number: index, clientNumber: clientIndex } = call;
    return { type: 'tool_call', index, clientIndex, id, name, arguments: argumentsText };
  });
}

/** The id of the wait that a call of a reserved function asks for. Undefined for any other call. */
export function askedBy({ kind, name, arguments: args }: Pick<StoredCall, 'kind' | 'name' | 'arguments'>) {
  const { id } = args;
  return kind === 'client' && reservedNames.includes(name) && typeof id === 'string' ? id : undefined;
}

const memberNames = 'id kind tool_call_id tool arguments expires_at rule reason message schema'.split(' ');

/** The event that shows a wait to a caller that stays. */
export function waitEvent(asked: Wait): TurnEvent {
  if (asked.kind === 'sign_in') return { type: 'sign_in_required', signIn: shownSignIn(asked) };
  return {
    type: 'approval_required',
    approval: { id: asked.id, tool_call_id: asked.callId, ...chosen(shownWait(asked), memberNames) },
  };
}

/** What a caller is shown who has to sign in. */
export const shownSignIn = (asked: Wait) => ({
  id: asked.id,
  tool_call_id: asked.callId,
  ...chosen(shownWait(asked), [...waitKinds.sign_in.request!, 'tool']),
});

/** The events for a call's progress, with what the call waits for, if it is people. */
export function progressEvents(callId: string, { asks, ...progress }: ToolProgress): TurnEvent[] {
  const event: TurnEvent = { type: 'tool_progress', callId, ...progress };
  return asks === undefined ? [event] : [waitEvent(asks), event];
}

/** The decision in a caller's answer. Undefined for other answers: some agent loops respond to unknown functions on their own. */
function readDecision(content: string): WaitDecision | undefined {
  const { decision, reason, arguments: args } = jsonObjectOf(content);
  if (decision !== 'approve' && decision !== 'deny') return undefined;
  if (args !== undefined && args !== null && !isJsonObject(args)) return undefined;
  return {
    decision,
    ...(typeof reason === 'string' ? { reason: reason.slice(0, maxReasonLength) } : {}),
    ...(decision === 'approve' && isJsonObject(args) ? { arguments: args } : {}),
  };
}

/** A round of an earlier turn whose calls the caller has answered. */
export interface AnsweredRound {
  round: StoredRound;
  /** The caller's texts, by call id. A call of the reserved function may have several. */
  answers: ReadonlyMap<string, readonly string[]>;
}

/** How often a caller is asked again after answers without a decision, or without having signed in. */
const maxAsked = 3;

/**
 * Applies the decisions in a caller's messages; earlier decisions stay. Any answer says that the caller has signed in, but `deny`: whether
 * that is so is known already.
 * @throws AppError invalid_value for a caller that never decides; the errors of Waits.decide for edited arguments
 */
export async function takeDecisions(
  answered: readonly AnsweredRound[],
  context: RequestContext,
  approvals: Pick<Waits, 'decide' | 'get'>,
): Promise<void> {
  for (const { round, answers } of answered) {
    for (const call of round.calls) {
      const id = askedBy(call);
      const wait = id === undefined ? undefined : await undecided(id, context, approvals);
      if (id === undefined || wait === undefined) continue;
      const given = answers.get(call.id) ?? [];
      const decision = wait.kind === 'sign_in' ? readSignIn(given) : readFirst(given);
      if (decision !== undefined) {
        // The API or another request decided, or the approval expired, just before: the first decision counts.
        await unless('approval_already_decided', approvals.decide(id, decision, context));
      } else if (wait.kind !== 'sign_in' && given.length > maxAsked) {
        const message =
          `A call of ${call.name} must be answered with {"decision": "approve"} or {"decision": "deny"}; ` +
          'these answers contain no decision';
        throw new AppError('invalid_value', message, { param: 'messages' });
      }
    }
  }
}

const readFirst = (given: readonly string[]): WaitDecision | undefined =>
  given.map(readDecision).find((read) => read !== undefined);

/** The caller is asked again while it may still sign in. */
function readSignIn(given: readonly string[]): WaitDecision | undefined {
  const refused = given.map(readDecision).find((read) => read?.decision === 'deny');
  if (refused !== undefined || given.length <= maxAsked) return refused;
  return { decision: 'deny', reason: `the caller came back ${given.length} times without having signed in` };
}

async function undecided(id: string, context: RequestContext, approvals: Pick<Waits, 'get'>) {
  const wait = await unless('approval_not_found', approvals.get(id, context));
  return wait?.state === 'waiting' ? wait : undefined;
}

/** The result of `work`; undefined if `work` fails with this code. */
const unless = <T>(code: AppError['code'], work: Promise<T>): Promise<T | undefined> =>
  work.catch((error: unknown) => {
    if (error instanceof AppError && error.code === code) return undefined;
    throw error;
  });

export interface ElsewherePorts {
  journal: Pick<Journal, 'get'>;
  questions: Pick<SamplingDesk, 'open'>;
}

const askAgainMs = { first: 50, most: 500 };

/**
 * Waits for the end of a call that another process, or an earlier request, has begun. Such a call ends by itself, or the reaper
 * ends it when its worker is lost. `onAsked` gets once what the call then waits for. Polls, because the journal sends no
 * events of other gateways' calls. Undefined: there is no such call, or `mayWait` returned false.
 */
export async function outcomeElsewhere(
  callId: string,
  caller: RequestContext & Pick<CallContext, 'runId'>,
  { journal, questions }: ElsewherePorts,
  { mayWait, onAsked }: { mayWait: (stored: StoredCall) => boolean; onAsked: (question: Wait) => Promise<void> | void },
): Promise<ToolOutcome | undefined> {
  let shown: string | undefined;
  for (let pause = askAgainMs.first; ; pause = Math.min(pause * 2, askAgainMs.most)) {
    const stored = await journal.get(callId);
    if (stored === undefined || isEnded(stored.state)) return stored?.outcome;
    const mayAsk = stored.state === 'parked' || stored.job?.questions !== undefined;
    const [question] = mayAsk ? await questions.open([callId], caller) : [];
    if (question !== undefined && question.id !== shown) {
      shown = question.id;
      await onAsked(question);
    }
    if (!mayWait(stored)) return undefined;
    await delay(pause, undefined, { signal: caller.signal }).catch(() => caller.signal.throwIfAborted());
  }
}
