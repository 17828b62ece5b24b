// Offers a turn what its session found in earlier turns, as the journal has it.
import type { RunStore } from '#libs/runs/run-store.js';
import { namesFound } from '../offer/found-tools.js';
import type { ToolOffer } from '../offer-tools.js';
import type { TurnRequest } from '../turn-request.js';

export interface FoundBy {
  request: Pick<TurnRequest, 'sessionId'>;
  principal: string;
  /** When the run began, if it is continued: it goes on with what it was offered then. */
  before?: Date | undefined;
}

/** Whether `offerFound` would read the store. */
export const recallsFound = ({ search }: ToolOffer, { sessionId }: Pick<TurnRequest, 'sessionId'>): boolean =>
  search !== undefined && sessionId !== undefined;

/** @throws AppError store_unavailable */
export async function offerFound(
  offer: ToolOffer,
  { request, principal, before }: FoundBy,
  runs: Pick<RunStore, 'foundTools'>,
): Promise<void> {
  if (!recallsFound(offer, request)) return;
  const results = await runs.foundTools(principal, request.sessionId!, before);
  offer.search!.offer(results.flatMap(namesFound));
}
