// Our types must fit those of version 7 of the official SDK; test/contract/newest-sdk.test.ts lets the compiler judge.
import type * as Seven from 'openai-7/resources/responses/responses';
import type {
  WireResponseEvent,
  WireItem,
  WireResponse,
  WireResponseUsage,
} from '../../apps/gateway/responses-api/wire-types.js';

type Fits<Ours, Theirs> = [Ours] extends [Theirs] ? true : false;
type Numbered = WireResponseEvent extends infer Event ? Event & { sequence_number: number } : never;
/** A response inside an event is compared separately. */
type OfItems = Exclude<Numbered, { response: unknown }>;
type Own = 'id' | 'object' | 'created_at' | 'status' | 'output' | 'error' | 'incomplete_details';

export const fits: [
  Fits<WireItem, Seven.ResponseOutputItem>,
  Fits<Pick<WireResponse, Own>, Pick<Seven.Response, Own>>,
  Fits<WireResponseUsage, Seven.ResponseUsage>,
  Fits<OfItems, Seven.ResponseStreamEvent>,
] = [true, true, true, true];
