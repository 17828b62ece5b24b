// Gathers what a provider's request leaves out of the caller's, or changes, so that the provider accepts it. A request that
// is sent as it was asked gathers nothing and costs nothing.
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

  /** Of a parameter, by its name in OpenAI's API. */
  leftOut(model: string, param: string): void {
    this.add(`${model} does not accept ${param}, so it was left out`, param);
  }

  /** Of a parameter that was not sent. Zero, false and what is empty ask for nothing. */
  notSent(model: string, param: string, value: Json | undefined): void {
    const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
    if (param === 'seed' ? value !== undefined : Boolean(value) && !isEmpty) this.leftOut(model, param);
  }

  /** `sent`: undefined if the model has none. */
  otherEffort(model: string, asked: string, sent: string | undefined): void {
    const instead = sent === undefined ? 'it was left out' : `'${sent}' was sent`;
    this.add(`${model} does not accept reasoning_effort '${asked}' here, so ${instead}`, 'reasoning_effort');
  }

  clear(): void {
    this.list = undefined;
  }

  /** `take`, told the warnings with the start of the message. */
  toldTo(take: TakeModelEvents): TakeModelEvents {
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
