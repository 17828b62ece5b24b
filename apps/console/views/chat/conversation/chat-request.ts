// The request of a turn: the conversation as messages, and what was chosen beside it.
import type { ChatRequest, McpServerTools, Message, RequestTool, ToolCall } from '@signalbox/client';
import type { Answer, AnswerPart, CallPart } from './answer.js';
import {
  type AskedNode,
  type ChatConversation,
  type ChatNode,
  pathTo,
  type TurnNode,
  type TurnOptions,
} from './conversation.js';

/** Characters of a result of an earlier turn that are told again. */
const mostOfOldResult = 32_000;

export function requestOfTurn(conversation: ChatConversation, { parent, options }: TurnNode): ChatRequest {
  const tools = offeredTools(options);
  return {
    ...(options.model !== undefined && { model: options.model }),
    messages: messagesUpTo(conversation, parent, options.system),
    ...(tools.length > 0 && { tools }),
    // A chat without tools of servers leaves nothing in the gateway, no session either.
    ...(tools.some(({ type }) => type === 'mcp') && { session_id: conversation.id, approval: 'hold' as const }),
  };
}

export function offeredTools({ tools, asks, functions }: TurnOptions): RequestTool[] {
  const servers = Object.entries(tools).filter(([, names]) => names.length > 0);
  return [
    ...servers.map(([server, names]): McpServerTools => {
      const asking = names.filter((name) => asks.includes(`${server}/${name}`));
      return {
        type: 'mcp',
        server_label: server,
        allowed_tools: names,
        ...(asking.length > 0 && { require_approval: { always: { tool_names: asking } } }),
      };
    }),
    ...functions,
  ];
}

function messagesUpTo(conversation: ChatConversation, last: string, system: string): Message[] {
  const path = pathTo(conversation, last);
  const lastAsked = path.findLastIndex(({ kind }) => kind === 'asked');
  const said = path.flatMap((node, index) => {
    if (node.kind === 'asked') return [toUserMessage(node)];
    return index > lastAsked ? openTurn(node) : endedTurn(node, path, index);
  });
  return [...(system.trim() === '' ? [] : [{ role: 'system' as const, content: system }]), ...said];
}

function toUserMessage({ text, files, offers = [] }: AskedNode): Message {
  const added = files.length === 0 ? '' : `\n\nFiles: ${files.join(', ')}`;
  if (offers.length === 0) return { role: 'user', content: text + added };
  return { role: 'user', content: [...offers, { type: 'text', text: text + added }] };
}

const textOf = (parts: readonly AnswerPart[]): string =>
  parts
    .flatMap((part) => (part.type === 'text' ? [part.text.trim()] : []))
    .filter((text) => text !== '')
    .join('\n\n');

/** A turn that waits for results of its caller: as the gateway gave it, which puts its own calls back in place. */
function openTurn({ answer }: TurnNode): Message[] {
  const calls = answer.parts.filter((part): part is CallPart => part.type === 'call' && part.isClient);
  return [
    {
      role: 'assistant',
      content: textOf(answer.parts) || null,
      ...(calls.length > 0 && { tool_calls: calls.map(toToolCall) }),
    },
    ...calls.map(({ id, given = '' }): Message => ({ role: 'tool', tool_call_id: id, content: given })),
  ];
}

/** A turn of the past with its calls and results. The ids are new ones: those of the gateway stand for turns that it may have forgotten. */
function endedTurn({ answer }: TurnNode, path: readonly ChatNode[], index: number): Message[] {
  const messages = roundsIn(answer).flatMap(({ text, calls }, round): Message[] => {
    const idOf = (at: number) => `past_${index}_${round}_${at}`;
    const called = calls.map((call, at) => ({ ...toToolCall(call), id: idOf(at) }));
    if (text === '' && called.length === 0) return [];
    return [
      { role: 'assistant', content: text || null, ...(called.length > 0 && { tool_calls: called }) },
      ...calls.map((call, at): Message => ({ role: 'tool', tool_call_id: idOf(at), content: resultOf(call) })),
    ];
  });
  // Some models refuse two messages of a user that follow each other.
  const isAnswered = messages.length > 0 || path[index + 1]?.kind === 'turn';
  return isAnswered ? messages : [{ role: 'assistant', content: '…' }];
}

interface PastRound {
  text: string;
  calls: CallPart[];
}

/** The text of a model call and the calls that followed it. */
function roundsIn({ parts }: Answer): PastRound[] {
  const rounds: { parts: AnswerPart[]; calls: CallPart[] }[] = [{ parts: [], calls: [] }];
  for (const part of parts) {
    const now = rounds.at(-1)!;
    const before = now.calls.at(-1);
    if (part.type !== 'call') {
      if (before === undefined) now.parts.push(part);
      else rounds.push({ parts: [part], calls: [] });
    } else if (isTold(part)) {
      if (before === undefined || before.round === part.round) now.calls.push(part);
      else rounds.push({ parts: [], calls: [part] });
    }
  }
  return rounds.map(({ parts: said, calls }) => ({ text: textOf(said), calls }));
}

/** Calls without a result were never made for the model: a turn was stopped before. */
const isTold = ({ result, given, arguments: given_ }: CallPart): boolean =>
  (result !== undefined || given !== undefined) && isJson(given_);

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function resultOf({ result, given }: CallPart): string {
  const text =
    given ??
    (result?.success === false ? `Error: ${result.error?.message ?? result.content}` : (result?.content ?? ''));
  return text.length <= mostOfOldResult ? text : `${text.slice(0, mostOfOldResult)}\n[cut]`;
}

const toToolCall = ({ id, name, arguments: given }: CallPart): ToolCall => ({
  id,
  type: 'function',
  function: { name, arguments: given },
});
