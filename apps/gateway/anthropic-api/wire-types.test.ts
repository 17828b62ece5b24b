// Our types must fit the official SDK's. `npm run typecheck` checks it.
import type Anthropic from '@anthropic-ai/sdk';
import { expectTypeOf } from 'vitest';
import { verifies } from '../../../test/verifies.js';
import type { WireBlock, WireDelta, WireError, WireEvent, WireMessage, WireUsage } from './wire-types.js';

type Beta = Anthropic.Beta.Messages.BetaMessage;
type Event<Type extends WireEvent['type']> = Extract<WireEvent, { type: Type }>;
type BetaEvent<Type extends WireEvent['type']> = Extract<
  Anthropic.Beta.Messages.BetaRawMessageStreamEvent,
  { type: Type }
>;

/** `usage` is compared separately, the others are our extensions. */
type NotTheirs = 'usage' | 'tool_execution' | 'warnings';

verifies('apis.messages.sdk', 'every member that we write has the SDK’s type', () => {
  expectTypeOf<WireBlock>().toExtend<Anthropic.Beta.Messages.BetaContentBlock>();
  expectTypeOf<Exclude<WireBlock, { type: `mcp_${string}` }>['type']>().toExtend<Anthropic.ContentBlock['type']>();
  expectTypeOf<Omit<WireMessage, NotTheirs>>().toExtend<Pick<Beta, keyof Omit<WireMessage, NotTheirs>>>();
  expectTypeOf<WireUsage>().toExtend<Pick<Beta['usage'], keyof WireUsage>>();
  expectTypeOf<WireUsage>().toExtend<Pick<Anthropic.Usage, keyof WireUsage>>();
  expectTypeOf<WireDelta>().toExtend<Anthropic.RawContentBlockDelta>();
  expectTypeOf<Event<'content_block_start'>>().toExtend<BetaEvent<'content_block_start'>>();
  expectTypeOf<Event<'content_block_delta'>>().toExtend<Anthropic.RawContentBlockDeltaEvent>();
  expectTypeOf<Event<'content_block_stop'>>().toExtend<BetaEvent<'content_block_stop'>>();
  expectTypeOf<Event<'message_delta'>['delta']>().toExtend<BetaEvent<'message_delta'>['delta']>();
  expectTypeOf<WireEvent['type']>().toEqualTypeOf<Anthropic.RawMessageStreamEvent['type']>();
  // The SDK's type does not list it; status 413.
  expectTypeOf<Exclude<WireError['error']['type'], 'request_too_large'>>().toExtend<Anthropic.ErrorType>();
});
