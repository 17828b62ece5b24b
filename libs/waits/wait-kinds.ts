// The kinds of waits, as data: all in which one kind differs from the next. A further kind is a row here, its name in the check
// of the table's column, and, if people answer it, how their answers are read and asked for in the gateway.
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { answerOf, type Answer } from './question.js';
import { type SamplingAnswer, samplingAnswerOf } from './sampling-request.js';
import { refusedOutcome, type Wait } from './wait.js';

export interface WaitKind<Given> {
  /** `people`: the caller, and those who may decide for others. `gateway`: the one that has taken the wait. */
  answeredBy: 'people' | 'gateway';
  /**
   * `parked`: the call has not begun; the journal has it as parked, and the write that refuses the wait ends the call. `dispatched`:
   * the call runs under the claim with which it asked, and goes on whatever the answer is.
   */
  call: 'parked' | 'dispatched';
  /** What an answer is: `arguments` by the tool's schema, `content` by the schema that the server sent, a `message` of a model. */
  answer: 'arguments' | 'content' | 'message';
  /** What a caller that does not stay is shown of the wait, as the API names it; absent for those that no caller sees. */
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
    request: ['id', 'tool', 'arguments', 'rule', 'reason', 'expires_at'],
    given: refusedOutcome,
  }),
  question: kind<Answer>({
    answeredBy: 'people',
    call: 'dispatched',
    answer: 'content',
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
const listed = (names: readonly string[]): string => `(${names.map((name) => `'${name}'`).join(', ')})`;
/** For `kind in …` of statements. */
export const parkedKinds = listed(kindNames.filter((name) => waitKinds[name].call === 'parked'));
export const kindsForPeople = listed(kindNames.filter((name) => waitKinds[name].answeredBy === 'people'));

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
