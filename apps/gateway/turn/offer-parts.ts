// Content parts that stand for a resource or a prompt of a tool server. They are replaced before a turn begins, so that neither the
// loop nor a provider ever meets one.
import type { ChatMessage } from '#libs/schemas/message.js';

export type OfferPart =
  | { type: 'mcp_resource'; uri: string; server?: string | null }
  | { type: 'mcp_prompt'; name: string; server?: string | null; arguments?: Record<string, string> | null };

export const isOfferPart = (part: { type: string }): part is OfferPart =>
  part.type === 'mcp_resource' || part.type === 'mcp_prompt';

/** Every chat is asked this, so it makes nothing. */
export function mentionsOffers(messages: readonly ChatMessage[]): boolean {
  for (const { content } of messages) {
    if (content === null || typeof content === 'string') continue;
    for (const part of content) if (isOfferPart(part)) return true;
  }
  return false;
}
