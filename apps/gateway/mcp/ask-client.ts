// Asks the client of an MCP call a question with a form (elicitation). Within a session of an older era that is a request
// on the stream of the call; since 2026-07-28 it is the call's own result, and the client comes back with the answer.
// Does not check what was answered, and does not know what the question is about.
import {
  type ElicitRequestFormParams,
  inputRequired,
  type InputRequiredResult,
  inputResponse,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { exchangeOf } from '#libs/mcp-server/endpoint/exchange.js';
import type { JsonObject } from '#libs/schemas/json.js';

export interface ClientQuestion {
  /** Of what is asked about. A client of 2026-07-28 sends it back as `requestState`: whoever reads that checks it. */
  id: string;
  message: string;
  /** An object of strings, numbers, booleans and enums, as the protocol has it. */
  schema: ElicitRequestFormParams['requestedSchema'];
}

/** `content`: as the client sent it. */
export type ClientAnswer = { action: 'accept'; content: JsonObject } | { action: 'decline' } | { action: 'cancel' };

export interface AskingCall {
  server: Server;
  request: ServerContext;
}

/** No earlier revision has `requestState`. */
const firstStateless = '2026-07-28';
/** Node's longest timer: the signal ends a question. */
const noTimeoutMs = 2 ** 31 - 1;
/** Of sessions: their first request, with the number 0, has been sent. */
const hasSent = new WeakSet<Server>();

/**
 * `hold`: the client is asked while its call goes on. `return`: by the result of its call, which it makes again. Undefined: it
 * cannot be asked.
 */
export function howToAsk({ server, request }: AskingCall): 'hold' | 'return' | undefined {
  const { elicitation } = server.getClientCapabilities() ?? {};
  // Without a mode it means forms, as before there were others.
  if (elicitation === undefined || (elicitation.form === undefined && elicitation.url !== undefined)) return undefined;
  if ((server.getNegotiatedProtocolVersion() ?? '') >= firstStateless) return 'return';
  // An answer without a stream has no place for a question.
  return exchangeOf(request.http?.req).streams ? 'hold' : undefined;
}

/**
 * The answer; or the result by which the client is asked, and after which it makes the call again; or undefined for a
 * client that cannot be asked. `signal`: ends the wait for an answer, which has no other bound.
 * @throws the signal's reason
 */
export async function askClient(
  { id, message, schema }: ClientQuestion,
  { server, request }: AskingCall,
  signal: AbortSignal,
): Promise<ClientAnswer | InputRequiredResult | undefined> {
  const how = howToAsk({ server, request });
  if (how === undefined) return undefined;
  const params = { message, requestedSchema: schema };
  if (how === 'return') {
    const given = inputResponse(request.mcpReq.inputResponses, id);
    if (given.kind === 'elicit') return toAnswer(given);
    return inputRequired({ inputRequests: { [id]: inputRequired.elicit(params) }, requestState: id });
  }
  if (!hasSent.has(server)) {
    hasSent.add(server);
    // Clients on SDK 1.x do not hear that a request 0 is taken back: a ping has that number.
    request.mcpReq.send({ method: 'ping' }, { signal }).catch(() => undefined);
  }
  try {
    return toAnswer(
      await request.mcpReq.send({ method: 'elicitation/create', params }, { signal, timeout: noTimeoutMs }),
    );
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

function toAnswer(given: { action: ClientAnswer['action']; content?: object | undefined }): ClientAnswer {
  const { action, content = {} } = given;
  return action === 'accept' ? { action, content: content as JsonObject } : { action };
}
