// Gathers warnings: what was left out of a caller's request, or changed, so that the provider accepts it. An unchanged request
// costs nothing.
import type { Json } from '#libs/schemas/json.js';
import type { Warning } from '#libs/schemas/warning.js';
import type { TakeModelEvents } from '../model-provider.js';

export class Warnings {
  /** Undefined if there are none. */
  list: Warning[] | undefined;

  /** `param`: the member of the request, in OpenAI's words. The same sentence again is not added. */
  add(message: string, param?: string): void {
    this.list ??= [];
    if (this.list.some((known) => known.message === message)) return;
    this.list.push({ message, ...(param !== undefined && { param }) });
  }

  /** Warns of a parameter that is left out, by its name in OpenAI's API. */
  leftOut(model: string, param: string): void {
    this.add(`${model} does not accept ${param}, so it was left out`, param);
  }

  /** Warns of a parameter that is not sent, unless its value (zero, false, empty) asks for nothing. */
  notSent(model: string, param: string, value: Json | undefined): void {
    const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
    if (param === 'seed' ? value !== undefined : Boolean(value) && !isEmpty) this.leftOut(model, param);
  }

  /** `sent`: undefined if the model has no efforts. */
  otherEffort(model: string, asked: string, sent: string | undefined): void {
    const instead = sent === undefined ? 'it was left out' : `'${sent}' was sent`;
    this.add(`${model} does not accept reasoning_effort '${asked}' here, so ${instead}`, 'reasoning_effort');
  }

  clear(): void {
    this.list = undefined;
  }

  /** `take` with the warnings added to the start of the message. */
  addTo(take: TakeModelEvents): TakeModelEvents {
    const warnings = this.list;
    if (warnings === undefined) return take;
    return (batch) =>
      take(
        batch.map((event) =>
          event.type === 'message_start' ? { ...event, warnings: [...(event.warnings ?? []), ...warnings] } : event,
        ),
      );
  }
}
