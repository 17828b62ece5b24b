// The parts of two runs beside each other: what was asked, and round by round the answer and its calls. Pure.
import type { RunDetails, ShownCall, ShownRound } from '@signalbox/client';
import type { Json } from '../../../widgets/forms/form-schema.js';
import { masked } from '../../../widgets/forms/schema-values.js';
import { maskedText, shownJson } from '../run/shown-json.js';

export type TextName = 'text' | 'reasoning' | 'arguments' | 'result';

/** What one of the runs has at a place. */
export interface ComparedSide {
  name: string;
  /** The row of the call; absent if the run has none. */
  call: ShownCall | undefined;
  texts: Partial<Record<TextName, string>>;
}

export interface ComparedPart {
  /** `asked`, `answer-1`, `call-1-0` */
  key: string;
  kind: 'asked' | 'answer' | 'call';
  round: number;
  left: ComparedSide | undefined;
  right: ComparedSide | undefined;
  isSame: boolean;
}

type Sides<Each> = readonly [left: Each, right: Each];

export function comparedParts(left: RunDetails, right: RunDetails): ComparedPart[] {
  const asked = part('asked', 'asked', 0, [askedSide(left), askedSide(right)]);
  const [one, other] = [left.round_list ?? [], right.round_list ?? []];
  const rounds = Array.from({ length: Math.max(one.length, other.length) }, (_, at) =>
    partsOfRound(at + 1, [one[at], other[at]], [left, right]),
  );
  return [asked, ...rounds.flat()];
}

function partsOfRound(
  number: number,
  rounds: Sides<ShownRound | undefined>,
  [left, right]: Sides<RunDetails>,
): ComparedPart[] {
  const answer = part(`answer-${number}`, 'answer', number, [answerSide(rounds[0]), answerSide(rounds[1])]);
  const pairs = paired(callSides(rounds[0], left), callSides(rounds[1], right));
  return [answer, ...pairs.map((pair, at) => part(`call-${number}-${at}`, 'call', number, pair))];
}

function part(
  key: string,
  kind: ComparedPart['kind'],
  round: number,
  [left, right]: Sides<ComparedSide | undefined>,
): ComparedPart {
  return { key, kind, round, left, right, isSame: written(left) === written(right) };
}

/** What makes a difference: not the ids, nor when it was. */
function written(side: ComparedSide | undefined): string | undefined {
  if (side === undefined) return undefined;
  const { name, call, texts } = side;
  return JSON.stringify([name, call?.state, call?.policy?.verdict, texts]);
}

function askedSide({ messages = [], round_list: [first] = [] }: RunDetails): ComparedSide {
  const asked = messages.slice(0, first?.sent ?? messages.length);
  const text = asked.map((message) => {
    const { role, content, ...others } = message;
    const more = Object.keys(others).length === 0 ? '' : `\n${JSON.stringify(shownJson(others), null, 2)}`;
    return `${wordOf(role)}:\n${contentOf(content)}${more}`;
  });
  return { name: '', call: undefined, texts: { text: text.join('\n\n') } };
}

function answerSide(round: ShownRound | undefined): ComparedSide | undefined {
  if (round === undefined) return undefined;
  const { content, reasoning_content: reasoning } = round.message;
  return {
    name: '',
    call: undefined,
    texts: { text: contentOf(content), ...(typeof reasoning === 'string' && reasoning !== '' && { reasoning }) },
  };
}

interface AskedCall {
  id?: string;
  function?: { name?: unknown; arguments?: unknown };
}

/** The calls that the message asks for: those of a caller need have no row. */
function callSides(round: ShownRound | undefined, run: RunDetails): ComparedSide[] {
  if (round === undefined) return [];
  const asked = round.message['tool_calls'];
  if (!Array.isArray(asked)) return [];
  const rows = new Map(run.call_list?.map((call) => [call.id, call]));
  return asked.map((each) => {
    const { id = '', function: called } = (each ?? {}) as AskedCall;
    const call = rows.get(id);
    const name = call === undefined || call.server === '' ? wordOf(called?.name) : `${call.server}/${call.tool}`;
    const sent = call === undefined ? maskedText(wordOf(called?.arguments)) : pretty(call.arguments);
    const result = call?.result?.content;
    return { name, call, texts: { arguments: sent, ...(result !== undefined && { result }) } };
  });
}

/** Equal calls first, then calls of one tool, in order; those that have no partner stay where they are. */
function paired(left: readonly ComparedSide[], right: readonly ComparedSide[]) {
  const rest = [...right];
  const take = (fits: (other: ComparedSide) => boolean) => {
    const at = rest.findIndex(fits);
    return at === -1 ? undefined : rest.splice(at, 1)[0];
  };
  const equal = left.map((one) =>
    take((other) => other.name === one.name && other.texts.arguments === one.texts.arguments),
  );
  const pairs = left.map((one, at): Sides<ComparedSide | undefined> => [
    one,
    equal[at] ?? take((other) => other.name === one.name),
  ]);
  return [...pairs, ...rest.map((other): Sides<ComparedSide | undefined> => [undefined, other])];
}

const wordOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const pretty = (value: unknown): string => JSON.stringify(masked(value as Json), null, 2);
const contentOf = (content: unknown): string =>
  typeof content === 'string' ? content : content === null || content === undefined ? '' : pretty(shownJson(content));
