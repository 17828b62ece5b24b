// Reads what a replay changes. Pure.
import { z } from 'zod';
import { ConfigError, formatProblem } from '#libs/config/config-error.js';
import { readPolicyDraft } from '#libs/config/policy-draft.js';
import type { Config } from '#libs/config/schema.js';
import { AppError } from '#libs/schemas/errors.js';
import { requireObject, validated, withoutNullMembers } from '../../chat-apis/invalid-value.js';
import { chatRequestSchema } from '../../openai-api/chat-request.schema.js';
import { readChatRequest } from '../../openai-api/read-request.js';
import type { AskedReplay } from '../../turn/replay/replays.js';

/** In characters. Reading YAML holds up all others. */
export const maxDraftLength = 256 * 1024;
const maxShownProblems = 100;

const replaySchema = z.strictObject({
  model: chatRequestSchema.shape.model,
  messages: z.array(z.unknown()).optional(),
  policy: z.string().min(1).max(maxDraftLength).optional(),
});

/** Without a body nothing is changed. @throws AppError invalid_value; of a chat's messages request_too_large too */
export function readReplay(body: unknown, limits: Config['limits']): AskedReplay {
  const given = body === undefined || body === null ? {} : withoutNullMembers(requireObject(body));
  const { model, messages, policy } = validated(replaySchema, given);
  return {
    model,
    messages: messages === undefined ? undefined : readChatRequest({ messages }, 'events', limits).messages,
    policy: policy === undefined ? undefined : readDraft(policy),
  };
}

function readDraft(text: string): Config['policy'] {
  try {
    return readPolicyDraft(text);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { problems } = error;
    const shown = problems.slice(0, maxShownProblems).map((problem) => formatProblem(problem).trim());
    const more = problems.length > shown.length ? [`and ${problems.length - shown.length} more`] : [];
    throw new AppError('invalid_value', `The draft cannot be used:\n${[...shown, ...more].join('\n')}`, {
      param: 'policy',
    });
  }
}
