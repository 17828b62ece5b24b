// The rates of a caller, and the name under which they are counted: each key, and each user with a token, has its own. Pure.
import { keylessPrincipal, type RequestContext } from '#libs/schemas/call-context.js';
import type { RateLimits } from './caller-rates.js';

const usual = { requests: 600, tokens: 1_000_000 };

/** The configured rates of a key that has none of its own. */
export interface RateSettings {
  requests_per_minute?: number | undefined;
  tokens_per_minute?: number | undefined;
}

export type RatedCaller = Pick<RequestContext, 'principal' | 'keyId' | 'access'>;

export const rateIdOf = ({ keyId, principal }: RatedCaller): string => keyId ?? `user:${principal}`;

/** Callers without a key count as one caller, which has limits only if they are configured. Undefined: no limits. */
export function rateLimitsOf({ principal, access }: RatedCaller, settings: RateSettings): RateLimits | undefined {
  const own = access?.limits;
  const free = access === undefined && principal === keylessPrincipal;
  const requests = own?.requests_per_minute ?? settings.requests_per_minute ?? (free ? undefined : usual.requests);
  const tokens = own?.tokens_per_minute ?? settings.tokens_per_minute ?? (free ? undefined : usual.tokens);
  return requests === undefined && tokens === undefined ? undefined : { requests, tokens };
}
