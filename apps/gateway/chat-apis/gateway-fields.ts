// Request fields that every chat API accepts besides those of its standard: the session, who runs the tools, what happens
// to the run if the client disconnects.
import { z } from 'zod';
import { sessionIdPattern } from '#libs/schemas/identifiers.js';
import type { TurnRequest } from '../turn/turn-request.js';

/** No control characters, so that names are safe in headers and log lines. */
export const modelName = z.string().regex(/^[^\p{C}\s]{1,256}$/u, 'is not a model name');
export const toolName = z.string().regex(/^[^\p{C}\s]{1,128}$/u, 'is not a tool name');

/** Requests can only name configured servers, not define their own. */
export const notFromRequests = z
  .undefined({ error: 'is not supported: servers are defined in the configuration only' })
  .optional();

export const gatewayFields = {
  session_id: z.string().regex(sessionIdPattern, 'must match ^[A-Za-z0-9_-]{1,128}$').optional(),
  tool_mode: z.enum(['auto', 'manual']).optional(),
  approval: z.enum(['hold', 'return']).optional(),
  on_disconnect: z.enum(['cancel', 'detach']).optional(),
  max_tool_rounds: z.number().int().min(1).optional(),
  priority: z.enum(['interactive', 'batch']).optional(),
};

type GatewayFields = z.output<z.ZodObject<typeof gatewayFields>>;
type GatewayOptions = Pick<
  TurnRequest,
  'onDisconnect' | 'priority' | 'approval' | 'sessionId' | 'toolMode' | 'maxToolRounds'
>;

/** `held`: whether approvals hold the turn if the request does not say. */
export function gatewayOptions(request: GatewayFields, held = false): GatewayOptions {
  return {
    onDisconnect: request.on_disconnect ?? 'cancel',
    priority: request.priority ?? 'interactive',
    approval: (request.approval ?? (held ? 'hold' : 'return')) === 'hold' ? 'hold' : undefined,
    sessionId: request.session_id,
    toolMode: request.tool_mode,
    maxToolRounds: request.max_tool_rounds,
  };
}
