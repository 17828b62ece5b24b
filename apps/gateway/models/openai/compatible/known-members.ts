// The members of messages and calls for servers that refuse unknown members. Other servers get all members: a client
// may send what its provider wants back.
import type { AssistantMessage, ChatMessage, ToolCall } from '#libs/schemas/message.js';
import type { ServedModel } from './known-servers.js';

type WireMessage = Partial<AssistantMessage> | Exclude<ChatMessage, AssistantMessage>;

const names = (text: string): ReadonlySet<string> => new Set(text.split(' '));
/** `reasoning_content` is there only if `reasoning_replay` asks for it. */
const known = {
  openai: names('role content name refusal annotations audio tool_calls tool_call_id reasoning_content'),
  mistral: names('role content prefix tool_calls tool_call_id reasoning_content'),
};
const ofCall = names('id type function');
/** At Mistral only results have a name. */
const ofResult = names('role content name tool_call_id');

/** A message that has no other members is returned as the same object. */
export function knownMembers(message: WireMessage, { isOpenAi, isStrict }: ServedModel): WireMessage {
  if (!isOpenAi && !isStrict) return message;
  const kept = only(message, message.role === 'tool' ? ofResult : isStrict ? known.mistral : known.openai);
  if (kept.role !== 'assistant' || kept.tool_calls === undefined) return kept;
  const calls = kept.tool_calls;
  const keptCalls = calls.map((call): ToolCall => only(call, ofCall));
  return keptCalls.every((call, at) => call === calls[at]) ? kept : { ...kept, tool_calls: keptCalls };
}

function only<T extends object>(given: T, members: ReadonlySet<string>): T {
  for (const name in given) {
    if (members.has(name)) continue;
    return Object.fromEntries(Object.entries(given).filter(([each]) => members.has(each))) as T;
  }
  return given;
}
