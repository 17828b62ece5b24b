// What a turn has to read before its first model call: the conversation that its messages name, and what its session found in
// earlier turns, as the journal has it.
import type { RequestContext } from '#libs/schemas/call-context.js';
import type { RunStore, StoredRun } from '#libs/runs/run-store.js';
import { namesFound } from './found-tools.js';
import type { ToolOffer } from '../offer-tools.js';
import type { TurnRequest } from '../turn-request.js';
import { conversationOf, mintedCallIds, type Restored } from '../runs/restore-history.js';

interface Offered {
  offer: ToolOffer;
  request: Pick<TurnRequest, 'sessionId'>;
}

interface Asked extends Offered {
  request: TurnRequest;
  context: Pick<RequestContext, 'principal'>;
}

export interface FoundBy extends Offered {
  principal: string;
  /** When the run began, if it is continued: it goes on with what it was offered then. */
  before?: Date | undefined;
}

/** Whether the turn has to read anything. */
export const readsStore = ({ offer, request }: Offered & { request: TurnRequest }): boolean =>
  mintedCallIds(request.messages).length > 0 || recallsFound({ offer, request });

const recallsFound = ({ offer, request }: Offered): boolean =>
  offer.search !== undefined && request.sessionId !== undefined;

/** The restored conversation, and in the offer what was found before. @throws the errors of restoreHistory */
export async function conversationFor(
  { offer, request, context: { principal } }: Asked,
  continued: Pick<StoredRun, 'createdAt'> | undefined,
  runs: RunStore,
): Promise<Restored> {
  const restored = await conversationOf(request, principal, runs);
  await offerFound({ offer, request, principal, before: continued?.createdAt }, runs);
  return restored;
}

/** @throws AppError store_unavailable */
export async function offerFound(by: FoundBy, runs: Pick<RunStore, 'foundTools'>): Promise<void> {
  if (!recallsFound(by)) return;
  const results = await runs.foundTools(by.principal, by.request.sessionId!, by.before);
  by.offer.search!.offer(results.flatMap(namesFound));
}
