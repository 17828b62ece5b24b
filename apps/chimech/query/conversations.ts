// Earlier turns of a conversation: kept in the cache of the tool and its caller, bounded, forgotten an hour after the last.
import { z } from 'zod';
import type { ChimechContext } from '../calls/chimech-context.js';
import type { PromptMessage } from '../api/api-client.js';

const keptMs = 3_600_000;
const maxMessages = 20;
const maxCharacters = 24_000;

const stored = z.array(z.object({ role: z.enum(['user', 'assistant']), content: z.string() }));

/** Undefined where nothing is remembered: no session, and no conversation named. */
export function conversationKey(
  conversationId: string | undefined,
  { sessionId }: Pick<ChimechContext, 'sessionId'>,
): string | undefined {
  if (conversationId !== undefined) return `conversation:${conversationId}`;
  return sessionId === undefined ? undefined : `session:${sessionId}`;
}

type Remembering = Pick<ChimechContext, 'cache' | 'logger'>;

export async function recallTurns(key: string | undefined, { cache, logger }: Remembering): Promise<PromptMessage[]> {
  if (key === undefined) return [];
  try {
    const text = await cache.get(key);
    return text === undefined ? [] : stored.parse(JSON.parse(text));
  } catch (error) {
    logger.warn({ error }, 'earlier turns could not be read');
    return [];
  }
}

/** Adds a turn to what is remembered by now: another may have ended meanwhile. */
export async function rememberTurn(
  key: string | undefined,
  turn: { question: string; answer: string },
  context: Remembering,
): Promise<void> {
  if (key === undefined) return;
  const messages: PromptMessage[] = [
    ...(await recallTurns(key, context)),
    { role: 'user', content: turn.question },
    { role: 'assistant', content: turn.answer },
  ];
  try {
    await context.cache.set(key, JSON.stringify(latest(messages)), keptMs);
  } catch (error) {
    context.logger.warn({ error }, 'a turn could not be remembered');
  }
}

/** Whole turns, the last ones. */
function latest(messages: PromptMessage[]): PromptMessage[] {
  let kept = messages.slice(-maxMessages);
  const size = () => kept.reduce((sum, { content }) => sum + content.length, 0);
  while (kept.length > 0 && size() > maxCharacters) kept = kept.slice(2);
  return kept;
}
