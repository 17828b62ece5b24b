// What a turn has said and done so far, folded from its events.
import type {
  ChatEvent,
  FinishReason,
  RequiredApproval,
  RequiredSignIn,
  ToolResult,
  Usage,
  Warning,
} from '@signalbox/client';

export type AskedSignIn = RequiredSignIn & { kind: 'sign_in' };

export interface CallPart {
  type: 'call';
  id: string;
  name: string;
  /** As the model writes them. */
  arguments: string;
  /** The person of the page gives the result. */
  isClient: boolean;
  status: 'writing' | 'queued' | 'running' | 'waiting' | 'ended';
  progress?: number;
  total?: number;
  message?: string;
  /** What a person is asked: to allow the call, to sign in at its tool server, or what that server wants to know. */
  asked?: RequiredApproval | AskedSignIn;
  result?: ToolResult;
  /** The result of a client call. */
  given?: string;
  round?: number;
}

export type AnswerPart = { type: 'text'; text: string } | { type: 'reasoning'; text: string } | CallPart;

export interface Answer {
  parts: AnswerPart[];
  model?: string;
  runId?: string;
  usage?: Usage;
  finishReason?: FinishReason;
  stoppedBy?: string;
  warnings?: Warning[];
}

export const noAnswer: Answer = { parts: [] };

type ToldEvent = Exclude<ChatEvent, { type: 'rewind' }>;

/** Parts that an event does not touch stay the same objects, so that nothing of them is drawn again. */
export function foldAnswer(answer: Answer, event: ToldEvent): Answer {
  switch (event.type) {
    case 'start':
      return { ...answer, runId: event.run_id, model: event.model };
    case 'content':
      return addText(answer, 'text', event.delta.content);
    case 'reasoning':
      return addText(answer, 'reasoning', event.delta.reasoning_content);
    case 'tool_call': {
      const isClient = event.choices.some(({ delta }) => (delta.tool_calls ?? []).length > 0);
      return event.delta.tool_calls.reduce((now, piece) => addPiece(now, piece, isClient), answer);
    }
    case 'tool_progress': {
      const { tool_call_id: id, status, progress, total, message } = event;
      const told = { progress, total, message };
      return withCall(answer, id, (call) => ({
        ...call,
        ...told,
        status: status === 'waiting_approval' ? 'waiting' : status,
        ...(status !== 'waiting_approval' && { asked: undefined }),
      }));
    }
    case 'approval_required':
      return withAsked(answer, event.approval);
    case 'sign_in_required':
      return withAsked(answer, { ...event.sign_in, kind: 'sign_in' });
    case 'tool_result':
      return withCall(answer, event.tool_call_id, (call) => ({
        ...call,
        status: 'ended',
        asked: undefined,
        result: event.result,
      }));
    case 'done': {
      const { usage, finish_reason: finishReason, tool_execution: execution, warnings } = event;
      const rounds = new Map(execution?.calls.map(({ id, round }) => [id, round]));
      const parts = answer.parts.map((part) =>
        part.type === 'call' && rounds.has(part.id) ? { ...part, round: rounds.get(part.id) } : part,
      );
      const stoppedBy = execution?.stopped_by ?? undefined;
      return { ...answer, parts, model: event.model, usage, finishReason, stoppedBy, warnings };
    }
    default:
      // Newer gateways may send more.
      return answer;
  }
}

function addText(answer: Answer, type: 'text' | 'reasoning', text: string): Answer {
  const last = answer.parts.at(-1);
  if (last?.type === type)
    return { ...answer, parts: [...answer.parts.slice(0, -1), { type, text: last.text + text }] };
  return { ...answer, parts: [...answer.parts, { type, text }] };
}

type CallPiece = Extract<ToldEvent, { type: 'tool_call' }>['delta']['tool_calls'][number];

function addPiece(answer: Answer, { index, id, function: piece }: CallPiece, isClient: boolean): Answer {
  if (id !== undefined) {
    const call: CallPart = {
      type: 'call',
      id,
      name: piece.name ?? '',
      arguments: piece.arguments,
      isClient,
      status: 'writing',
    };
    return { ...answer, parts: [...answer.parts, call] };
  }
  const calls = answer.parts.filter((part) => part.type === 'call');
  const target = calls[index];
  if (target === undefined) return answer;
  return withCall(answer, target.id, (call) => ({ ...call, arguments: call.arguments + piece.arguments }));
}

export function withCall(answer: Answer, id: string, change: (call: CallPart) => CallPart): Answer {
  const parts = answer.parts.map((part) => (part.type === 'call' && part.id === id ? change(part) : part));
  return { ...answer, parts };
}

const withAsked = (answer: Answer, asked: RequiredApproval | AskedSignIn): Answer =>
  withCall(answer, asked.tool_call_id, (call) => ({ ...call, status: 'waiting', asked }));

/** Calls that the person of the page has yet to answer. */
export const openClientCalls = ({ parts, finishReason }: Answer): CallPart[] =>
  finishReason === undefined
    ? []
    : parts.filter((part): part is CallPart => part.type === 'call' && part.isClient && part.given === undefined);
