// A resource or a prompt of a tool server that is named in a chat: as a part of a message, and in the address that leads there.
import type { OfferPart } from '@signalbox/client';

/** In the address of Chat: what the next message names. */
export const offerAddress = (offer: OfferPart): { attach: string } => ({ attach: JSON.stringify(offer) });

export const offerName = (offer: OfferPart): string => (offer.type === 'mcp_resource' ? offer.uri : offer.name);

/** Addresses and imported files may say anything. */
export function isOffer(given: unknown): given is OfferPart {
  if (typeof given !== 'object' || given === null) return false;
  const { type, uri, name, server, arguments: args = {} } = given as Record<string, unknown>;
  if (typeof server !== 'string' || typeof args !== 'object' || args === null) return false;
  if (type === 'mcp_resource') return typeof uri === 'string';
  return (
    type === 'mcp_prompt' && typeof name === 'string' && Object.values(args).every((each) => typeof each === 'string')
  );
}

export function readOffer(text: string): OfferPart | undefined {
  try {
    const given: unknown = JSON.parse(text);
    return isOffer(given) ? given : undefined;
  } catch {
    return undefined;
  }
}
