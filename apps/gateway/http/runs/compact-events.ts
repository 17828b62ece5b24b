// The events of a run as a short list: the pieces of one text, and those of the arguments of one call, are one event. Pure.
import type { NumberedEvent } from '#libs/runs/run-store.js';
import type { Json, JsonObject } from '#libs/schemas/json.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { Shown } from '../openapi/open-api-shapes.js';
import type { runEvent } from '../openapi/run-shapes.js';

export type ShownEvent = Shown<typeof runEvent>;

export function compactEvents(events: readonly NumberedEvent[]): ShownEvent[] {
  const shown: ShownEvent[] = [];
  let last: TurnEvent | undefined;
  for (const { n, event } of events) {
    const before = shown.at(-1);
    if (before !== undefined && last !== undefined && continues(last, event)) {
      before.n = n;
      if (event.type === 'tool_call') before['arguments'] = `${before['arguments'] as string}${event.arguments}`;
      else if (event.type === 'content' || event.type === 'reasoning') {
        before['text'] = `${before['text'] as string}${event.text}`;
      }
    } else shown.push({ n, ...membersOf(event) });
    last = event;
  }
  return shown;
}

function continues(last: TurnEvent, event: TurnEvent): boolean {
  if (event.type === 'content' || event.type === 'reasoning')
    return last.type === event.type && last.choice === event.choice;
  return (
    event.type === 'tool_call' && last.type === 'tool_call' && event.id === undefined && last.index === event.index
  );
}

/** In the words of the `/api` dialect. */
function membersOf(event: TurnEvent): JsonObject & { type: string } {
  switch (event.type) {
    case 'start':
      return known({ type: event.type, model: event.model, session_id: event.sessionId });
    case 'content':
    case 'reasoning':
      return known({ type: event.type, text: event.text, choice: event.choice });
    case 'tool_call': {
      const { type, id, name, server, arguments: args, clientIndex } = event;
      return known({ type, tool_call_id: id, name, server, arguments: args, client: clientIndex !== null });
    }
    case 'tool_progress': {
      const { type, callId, ...progress } = event;
      return known({ type, tool_call_id: callId, ...progress });
    }
    case 'tool_result':
      return known({ type: event.type, tool_call_id: event.callId, result: event.result as unknown as JsonObject });
    case 'approval_required':
      return { type: event.type, approval: event.approval };
    case 'sign_in_required':
      return { type: event.type, sign_in: event.signIn };
    case 'done': {
      const { type, finishReason, usage } = event;
      return known({ type, finish_reason: finishReason, usage });
    }
    case 'error':
      return { type: event.type, error: event.error };
    case 'rewind':
      return { type: event.type, to: event.to };
  }
}

function known(members: { type: string; [name: string]: Json | undefined }): JsonObject & { type: string } {
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as JsonObject & { type: string };
}
