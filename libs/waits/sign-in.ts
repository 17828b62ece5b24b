// A sign-in that a call waits for: its caller has to sign in at the tool server before the call can begin. Pure.
import type { JsonObject } from '#libs/schemas/json.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { Wait } from './wait.js';

/** A sign-in before it is written, which parks the call. */
export interface NewSignIn {
  /** Same form as the id of an approval. */
  id: string;
  callId: string;
  /** The fence of the call's claim; undefined for a call that runs without one. */
  fence: string | undefined;
  worker: string;
  server: string;
  scopes: readonly string[];
  arguments: JsonObject;
  expiresMs: number;
  /** How many calls of a principal may be parked for people at once. */
  maxWaiting: number;
}

/** Knows where callers sign in. */
export interface SignIns {
  /** The address holds nothing secret: whoever opens it still has to show who they are. */
  addressOf(wait: Pick<Wait, 'id'>): string;
}

/** How often one call may wait for a sign-in: a server that refuses every sign-in must not ask forever. */
export const maxSignInsOfCall = 3;

/** The outcome of a parked call whose caller has not signed in. Undefined while the call may still run. */
export function unconnectedOutcome({
  state,
  decisionReason,
  name,
}: Pick<Wait, 'state' | 'decisionReason' | 'name'>): ToolOutcome | undefined {
  switch (state) {
    case 'waiting':
    case 'approved':
      return undefined;
    case 'cancelled':
      return failedOutcome('cancelled', 'cancelled', 'The call was cancelled before its caller signed in');
    case 'expired':
      return notConnected(`Nobody signed in for the call of '${name}' in time`);
    case 'denied':
      return notConnected(
        `The sign-in for the call of '${name}' was refused${decisionReason === null ? '' : `: ${decisionReason}`}`,
      );
  }
}

const notConnected = (message: string) => failedOutcome('denied', 'connection_needed', message);
