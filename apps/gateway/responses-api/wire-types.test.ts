// Our types must fit those of the official SDK, here of its version 6 (of 7: test/newest-sdk). `npm run typecheck` checks it.
import type * as Six from 'openai/resources/responses/responses';
import { expectTypeOf } from 'vitest';
import { verifies } from '../../../test/verifies.js';
import type { WireErrorEvent, WireResponseEvent, WireItem, WireResponse, WireResponseUsage } from './wire-types.js';

/** `toExtend` fails on unions as large as the SDK's. */
type Fits<Ours, Theirs> = [Ours] extends [Theirs] ? true : false;
/** The SDK still types the error of a server call as a string. */
type ItemOfSix = Exclude<WireItem, { type: 'mcp_call' }>;
type Own = 'id' | 'object' | 'created_at' | 'status' | 'output' | 'error' | 'incomplete_details';
type OwnResponse = Pick<WireResponse, Own>;

verifies('apis.responses.sdk', 'every member that we write has the SDK’s type', () => {
  expectTypeOf<Fits<ItemOfSix, Six.ResponseOutputItem>>().toEqualTypeOf<true>();
  expectTypeOf<Fits<Omit<OwnResponse, 'output'>, Omit<Pick<Six.Response, Own>, 'output'>>>().toEqualTypeOf<true>();
  expectTypeOf<Fits<WireResponseUsage, Six.ResponseUsage>>().toEqualTypeOf<true>();
  expectTypeOf<Fits<WireResponseEvent['type'], Six.ResponseStreamEvent['type']>>().toEqualTypeOf<true>();
  expectTypeOf<Fits<WireErrorEvent, Six.ResponseErrorEvent>>().toEqualTypeOf<true>();
  // Check that the comparison can fail.
  expectTypeOf<Fits<{ type: 'message'; id: number }, Six.ResponseOutputItem>>().toEqualTypeOf<false>();
});
