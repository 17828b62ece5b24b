// Asks the client of an MCP call a question with a form, or to open an address (elicitation). In a session of an older era the
// question is a request on the call's stream; since 2026-07-28 it is the call's result, and the client comes back with the answer.
// The answer is not checked here.
import {
  type ElicitRequestFormParams,
  inputRequired,
  type InputRequiredResult,
  inputResponse,
  RELATED_TASK_META_KEY,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { isModern } from '#libs/mcp-server/endpoint/eras.js';
import { exchangeOf } from '#libs/mcp-server/endpoint/exchange.js';
import type { JsonObject } from '#libs/schemas/json.js';

export type ClientQuestion = {
  /** Id of the wait. A client of 2026-07-28 returns the id as `requestState`, which its reader must check. */
  id: string;
  message: string;
} & (
  | {
      /** An object of strings, numbers, booleans and enums, as the protocol defines. */
      schema: ElicitRequestFormParams['requestedSchema'];
    }
  | {
      /** What the client's user does there is not part of the answer. */
      url: string;
    }
);

/** `content`: unchecked. */
export type ClientAnswer = { action: 'accept'; content: JsonObject } | { action: 'decline' } | { action: 'cancel' };

export interface AskingCall {
  server: Server;
  request: ServerContext;
  /** The task that the client is asked for, if `request` is about one. */
  taskId?: string;
}

/** Node's longest timer; only the signal ends a question. */
const noTimeoutMs = 2 ** 31 - 1;
/** Servers of sessions whose first request, number 0, has been sent. */
const hasSent = new WeakSet<Server>();

/**
 * `hold`: the client is asked while its call goes on. `return`: the call's result asks, and the client repeats the call. Undefined:
 * the client cannot be asked.
 */
export function howToAsk({ server, request }: AskingCall, by: 'form' | 'url' = 'form'): 'hold' | 'return' | undefined {
  const { elicitation } = server.getClientCapabilities() ?? {};
  if (elicitation === undefined || (by === 'url' && elicitation.url === undefined)) return undefined;
  // A client that names no mode supports forms, which were once the only mode.
  if (by === 'form' && elicitation.form === undefined && elicitation.url !== undefined) return undefined;
  if (isModern(server)) return 'return';
  // An answer that is not a stream cannot carry a question.
  return exchangeOf(request.http?.req).streams ? 'hold' : undefined;
}

/**
 * The client's answer; or the result that asks the client, who then repeats the call; or undefined if the client cannot be asked.
 * Only `signal` ends the wait for an answer.
 * @throws the signal's reason
 */
export async function askClient(
  question: ClientQuestion,
  { server, request, taskId }: AskingCall,
  signal: AbortSignal,
): Promise<ClientAnswer | InputRequiredResult | undefined> {
  const how = howToAsk({ server, request }, 'url' in question ? 'url' : 'form');
  if (how === undefined) return undefined;
  if (how === 'return') {
    const given = inputResponse(request.mcpReq.inputResponses, question.id);
    return given.kind === 'elicit' ? toAnswer(given) : askByResult(question);
  }
  if (!hasSent.has(server)) {
    hasSent.add(server);
    // Clients on SDK 1.x ignore the cancelling of request 0, so a ping uses that number.
    request.mcpReq.send({ method: 'ping' }, { signal }).catch(() => undefined);
  }
  try {
    return toAnswer(
      await request.mcpReq.send(
        { method: 'elicitation/create', params: { ...paramsOf(question), ...relatedTo(taskId) } },
        { signal, timeout: noTimeoutMs },
      ),
    );
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** The result that asks the client, which repeats its call with an answer. */
export function askByResult(question: ClientQuestion): InputRequiredResult {
  const { id, message } = question;
  const request =
    'url' in question
      ? inputRequired.elicitUrl({ message, url: question.url })
      : inputRequired.elicit({ message, requestedSchema: question.schema });
  return inputRequired({ inputRequests: { [id]: request }, requestState: id });
}

/** What the client's user did at the address is done. Since 2026-07-28 nobody says so: the client comes back. Never rejects. */
export function tellCompleted({ id }: Pick<ClientQuestion, 'id'>, { server, request, taskId }: AskingCall): void {
  if (howToAsk({ server, request }, 'url') !== 'hold') return;
  const params = { elicitationId: id, ...relatedTo(taskId) };
  request.mcpReq.notify({ method: 'notifications/elicitation/complete', params }).catch(() => undefined);
}

const paramsOf = (question: ClientQuestion) =>
  'url' in question
    ? { mode: 'url' as const, message: question.message, url: question.url, elicitationId: question.id }
    : { message: question.message, requestedSchema: question.schema };

/** In `_meta` of what belongs to a task of 2025-11-25 without naming it otherwise. */
export const relatedTo = (taskId: string | undefined) =>
  taskId === undefined ? {} : { _meta: { [RELATED_TASK_META_KEY]: { taskId } } };

export function toAnswer(given: { action: ClientAnswer['action']; content?: object | undefined }): ClientAnswer {
  const { action, content = {} } = given;
  return action === 'accept' ? { action, content: content as JsonObject } : { action };
}
