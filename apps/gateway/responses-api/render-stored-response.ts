// Renders a stored run, finished or not, as a response.
import type { StoredRound, StoredRun } from '#libs/runs/run-store.js';
import { mintResponseId } from '#libs/schemas/identifiers.js';
import { storedEvents } from '../turn/replay-events.js';
import { advancesDetached, storedError } from '../turn/runs/run-errors.js';
import { callerForms } from '../chat-apis/caller-events.js';
import type { TurnRequest } from '../turn/turn-request.js';
import { newResponse, ResponseFold, type ResponseRendering } from './render-response.js';
import type { WireResponse } from './wire-types.js';

export function isStoredResponse(run: StoredRun): boolean {
  return run.dialect === 'responses' && (run.request as unknown as TurnRequest).store === true;
}

export function responseRendering(run: Pick<StoredRun, 'id' | 'createdAt'>, request: TurnRequest): ResponseRendering {
  return {
    id: mintResponseId(run.id),
    created: Math.floor(run.createdAt.getTime() / 1000),
    echo: request.echo ?? {},
    forms: callerForms(request.tools),
  };
}

export function renderStoredResponse(run: StoredRun, rounds: readonly StoredRound[]): WireResponse {
  const request = run.request as unknown as TurnRequest;
  const rendering = responseRendering(run, request);
  if (run.state === 'done' && run.answer !== null) {
    const fold = new ResponseFold(rendering);
    for (const event of storedEvents(run, rounds)) fold.add(event);
    return fold.answer;
  }
  const begun = { ...newResponse(rendering), model: request.model ?? '' };
  switch (run.state) {
    case 'failed':
      return { ...begun, status: 'failed', error: { code: 'server_error', message: failureOf(run) } };
    case 'cancelled':
      return { ...begun, status: 'cancelled' };
    case 'interrupted':
      return advancesDetached(run) ? begun : { ...begun, status: 'incomplete' };
    case 'running':
    case 'done':
      return begun;
  }
}

function failureOf(run: StoredRun): string {
  const { code, message } = storedError(run);
  return `${code}: ${message}`;
}
