// The kinds of waits, as data: all in which one kind differs from the next. A further kind is a row here, its name in the check
// of the table's column, and, if people answer it, how their answers are read and asked for in the gateway.
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { answerOf, type Answer } from './question.js';
import { type SamplingAnswer, samplingAnswerOf } from './sampling-request.js';
import { unconnectedOutcome } from './sign-in.js';
import { refusedOutcome, type Wait } from './wait.js';

export interface WaitKind<Given> {
  /** `people`: the caller, and those who may decide for others. `gateway`: the one that has taken the wait. */
  answeredBy: 'people' | 'gateway';
  /**
   * `parked`: the call has not begun; the journal has it as parked, and the write that refuses the wait ends the call. `dispatched`:
   * the call runs under the claim with which it asked, and goes on whatever the answer is.
   */
  call: 'parked' | 'dispatched';
  /**
   * What an answer is: `arguments` by the tool's schema, a `connection` that the caller makes elsewhere, `content` by the schema that
   * the server sent, a `message` of a model.
   */
  answer: 'arguments' | 'connection' | 'content' | 'message';
  /** The reserved function by which a caller that does not stay is asked; absent, as the next, for what no caller sees. */
  requestName?: string;
  /** What that caller is shown of the wait, as the API names it. */
  request?: readonly string[];
  /** What the call is given at the end of the wait, also when it expires. Undefined: the call still waits, or may run. */
  given: (wait: Settled) => Given | undefined;
}

/** A wait, as far as its end needs it. */
export type Settled = Pick<Wait, 'state' | 'decisionReason' | 'answer' | 'name' | 'rule' | 'reason'>;

const kind = <Given>(members: WaitKind<Given>): WaitKind<Given> => members;

export const waitKinds = {
  approval: kind<ToolOutcome>({
    answeredBy: 'people',
    call: 'parked',
    answer: 'arguments',
    requestName: 'approval_request',
    request: ['id', 'tool', 'arguments', 'rule', 'reason', 'expires_at'],
    given: refusedOutcome,
  }),
  sign_in: kind<ToolOutcome>({
    answeredBy: 'people',
    call: 'parked',
    answer: 'connection',
    requestName: 'sign_in_request',
    request: ['id', 'server', 'authorization_url', 'expires_at'],
    given: unconnectedOutcome,
  }),
  question: kind<Answer>({
    answeredBy: 'people',
    call: 'dispatched',
    answer: 'content',
    requestName: 'approval_request',
    request: ['id', 'kind', 'tool', 'message', 'schema', 'expires_at'],
    given: answerOf,
  }),
  sampling: kind<SamplingAnswer>({
    answeredBy: 'gateway',
    call: 'dispatched',
    answer: 'message',
    given: samplingAnswerOf,
  }),
} satisfies Record<Wait['kind'], WaitKind<unknown>>;

export const kindNames = Object.keys(waitKinds) as Wait['kind'][];
/** Callers may not bring tools of these names. */
export const reservedNames: readonly string[] = [
  ...new Set(kindNames.flatMap((name) => waitKinds[name].requestName ?? [])),
];
const listed = (names: readonly string[]): string => `(${names.map((name) => `'${name}'`).join(', ')})`;
/** For `kind in …` of statements. */
export const parkedKinds = listed(kindNames.filter((name) => waitKinds[name].call === 'parked'));
export const kindsForPeople = listed(kindNames.filter((name) => waitKinds[name].answeredBy === 'people'));

/** Whether a parked call may run, as SQL: all that it was parked for was given. */
export const mayLeave = (callId: string): string => `coalesce((
    select bool_and(wait.state = 'approved') from approvals wait where wait.call_id = ${callId} and wait.kind in ${parkedKinds}), false)`;

/** How the end of the wait ends its parked call. Undefined: the call may run or still waits, or it is not parked. */
export function parkedOutcome(wait: Settled & Pick<Wait, 'kind'>): ToolOutcome | undefined {
  switch (wait.kind) {
    case 'approval':
    case 'sign_in':
      return waitKinds[wait.kind].given(wait);
    case 'question':
    case 'sampling':
      return undefined;
  }
}

/** Whether people see the wait, and answer it. */
export const isForPeople = ({ kind: name }: Pick<Wait, 'kind'>): boolean => waitKinds[name].answeredBy === 'people';

interface Clock {
  pause(): () => void;
}

/**
 * Stops the time that does not pass during a wait: the tool's for every answer, the turn's while people are waited for. The returned
 * function lets it pass again.
 */
export function stopClocks({ answeredBy }: Pick<WaitKind<unknown>, 'answeredBy'>, clocks: WaitClocks): () => void {
  const goOn = [clocks.tool?.pause(), answeredBy === 'people' ? clocks.turn?.pause() : undefined];
  return () => {
    for (const each of goOn) each?.();
  };
}

export interface WaitClocks {
  turn?: Clock;
  tool?: Clock;
}
