// Translates calls of a turn's events to the caller's own names and forms, for renderers. Stored runs keep the names and
// arguments of the model.
import type { CallerForm } from '#libs/schemas/tool-definition.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { RequestedTool } from '../turn/turn-request.js';
import { StreamedText } from './free-text.js';

type CallEvent = Extract<TurnEvent, { type: 'tool_call' }>;

/** By the names that models see. */
export type CallerForms = ReadonlyMap<string, CallerForm>;

/** Undefined if the caller knows all tools as the model does. */
export function callerForms(tools: readonly RequestedTool[]): CallerForms | undefined {
  let forms: Map<string, CallerForm> | undefined;
  for (const tool of tools) {
    if (tool.type === 'function' && tool.form !== undefined) (forms ??= new Map()).set(tool.definition.name, tool.form);
  }
  return forms;
}

interface OpenCall {
  form: CallerForm;
  text: StreamedText | undefined;
  /** Without the members of the first fragment. */
  event: CallEvent;
}

export class CallerEvents {
  /** Calls of the current message, by index. */
  private readonly open = new Map<number, OpenCall>();

  constructor(private readonly forms: CallerForms) {}

  /** `event` in the caller's terms, after the rest of earlier calls. */
  of(event: TurnEvent): readonly TurnEvent[] {
    if (event.type === 'tool_call') return this.call(event);
    return this.open.size === 0 ? [event] : [...this.ends(), event];
  }

  private call(event: CallEvent): readonly TurnEvent[] {
    const { id, index, clientIndex } = event;
    const form = id === undefined || clientIndex === null ? undefined : this.forms.get(event.name ?? '');
    if (form !== undefined) {
      const text = form.custom === true ? new StreamedText() : undefined;
      this.open.set(index, { form, text, event: { type: 'tool_call', index, clientIndex, form, arguments: '' } });
    }
    const call = this.open.get(index);
    if (call === undefined) return [event];
    const more = call.text?.add(event.arguments) ?? event.arguments;
    if (id === undefined) return more === '' ? [] : [{ ...call.event, arguments: more }];
    return [{ ...event, name: call.form.name, form: call.form, arguments: more }];
  }

  private ends(): TurnEvent[] {
    const rests = [...this.open.values()].map(({ text, event }) => ({ ...event, arguments: text?.end() ?? '' }));
    this.open.clear();
    return rests.filter((event) => event.arguments !== '');
  }
}
