// Reads what a replay changes. Pure.
import { z } from 'zod';
import { maxDraftLength } from '#libs/config/policy-draft.js';
import type { Config } from '#libs/config/schema.js';
import { AppError } from '#libs/schemas/errors.js';
import { requireObject, validated, withoutNullMembers } from '../../chat-apis/invalid-value.js';
import { chatRequestSchema } from '../../openai-api/chat-request.schema.js';
import { readChatRequest } from '../../openai-api/read-request.js';
import { mentionsOffers } from '../../turn/offer-parts.js';
import type { ReplayChanges } from '../../turn/replay/replayed-turn.js';

const replaySchema = z.strictObject({
  model: chatRequestSchema.shape.model,
  messages: z.array(z.unknown()).optional(),
  policy: z.string().min(1).max(maxDraftLength).optional(),
});

/** `policy`: the text of a draft. Without a body nothing is changed. @throws AppError invalid_value; of a chat's messages request_too_large too */
export function readReplay(body: unknown, limits: Config['limits']): ReplayChanges & { policy: string | undefined } {
  const given = body === undefined || body === null ? {} : withoutNullMembers(requireObject(body));
  const { model, messages, policy } = validated(replaySchema, given);
  return {
    model,
    messages: messages === undefined ? undefined : readConversation(messages, limits),
    policy,
  };
}

function readConversation(messages: unknown[], limits: Config['limits']): ReplayChanges['messages'] {
  const { messages: read } = readChatRequest({ messages }, 'events', limits);
  if (!mentionsOffers(read)) return read;
  throw new AppError('invalid_value', 'A replay reads no resources and prompts: send their content', {
    param: 'messages',
  });
}
