// A call as a gateway plans it, for tests of what happens to it then.
import { Deadline } from '#libs/concurrency/deadline.js';
import type { CallContext } from '#libs/schemas/call-context.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { Call, type RunnableCall } from '../../apps/gateway/turn/call.js';

export const forever = new Deadline(Infinity);

export function runnableCall(tool: CatalogTool, args: JsonObject, context: CallContext): RunnableCall {
  const questions = { expiresMs: 1_000, notify: false };
  return new Call(context.callId, tool.name).of('server', context).prepare(tool, args, {
    replyTo: 'gateway-1',
    questions,
  });
}
