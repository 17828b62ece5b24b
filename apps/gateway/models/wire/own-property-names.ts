// Gives the arguments of an answer's calls the names that their tools have. Arguments with mapped names are held until
// their call is complete, because a piece of a name cannot be mapped. Other events pass as they are.
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { parseJsonObject } from '#libs/schemas/json.js';
import type { MappedRequest, MappedTool } from '../conversation/property-names.js';
import type { TakeModelEvents } from '../model-provider.js';

export function withOwnPropertyNames(tools: MappedRequest['tools'], take: TakeModelEvents): TakeModelEvents {
  if (tools.size === 0) return take;
  /** The tools of calls by their index. */
  const held = new Map<number, MappedTool>();
  return (batch) => {
    const passed = batch.flatMap((event) => pass(event, tools, held));
    return passed.length === 0 ? undefined : take(passed);
  };
}

function pass(event: ModelEvent, tools: MappedRequest['tools'], held: Map<number, MappedTool>): ModelEvent[] {
  if (event.type === 'tool_call_start') {
    const tool = tools.get(event.name);
    if (tool === undefined) held.delete(event.index);
    else held.set(event.index, tool);
  }
  if (event.type === 'tool_call_delta' && held.has(event.index)) return [];
  if (event.type !== 'tool_call_end') return [event];
  const tool = held.get(event.index);
  if (tool === undefined) return [event];
  const args = event.parseError === undefined ? parseJsonObject(event.arguments) : undefined;
  const text = args === undefined ? event.arguments : JSON.stringify(tool.fromWire(args));
  return [
    { type: 'tool_call_delta', index: event.index, arguments: text },
    { ...event, arguments: text },
  ];
}
