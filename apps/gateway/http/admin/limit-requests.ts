// Requests and tokens a minute: refuses a request above the limits of its key before its body is read, and tells every caller
// with limits what is left, in the headers that clients of OpenAI read. Reading (GET, HEAD) is not counted.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RateName, RateVerdict } from '#libs/limits/caller-rates.js';
import { rateIdOf, rateLimitsOf, type RateSettings } from '#libs/limits/rate-limits.js';
import type { Rates } from '#libs/limits/rates.js';
import { AppError } from '#libs/schemas/errors.js';
import { requestContext } from '../request-context.js';
import { routeAccess } from './route-scopes.js';

const names: readonly RateName[] = ['requests', 'tokens'];

export interface LimitRequestsParts {
  rates: Pick<Rates, 'admit'>;
  limits: RateSettings;
  onRefused: (limit: string) => void;
}

export class LimitRequests {
  constructor(private readonly parts: LimitRequestsParts) {}

  /** Call once the caller is known. Undefined: admitted at once. @throws AppError rate_limit_exceeded */
  admit(request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined {
    if (request.method === 'GET' || request.method === 'HEAD') return undefined;
    const context = requestContext(request);
    const limits = rateLimitsOf(context, this.parts.limits);
    if (limits === undefined) return undefined;
    const access = routeAccess(request.method, request.routeOptions.url ?? '');
    if (access === undefined || access === 'open' || access === 'operator') return undefined;
    const apply = (verdict: RateVerdict) => {
      for (const name of names) {
        const limit = limits[name];
        if (limit === undefined) continue;
        reply.header(`x-ratelimit-limit-${name}`, String(limit));
        reply.header(`x-ratelimit-remaining-${name}`, String(verdict.left[name]));
        reply.header(`x-ratelimit-reset-${name}`, shownTime(verdict.resetMs));
      }
      if (verdict.refusedBy !== undefined) throw this.refusal(verdict.refusedBy, limits[verdict.refusedBy]!, verdict);
    };
    const verdict = this.parts.rates.admit(rateIdOf(context), limits);
    if (verdict instanceof Promise) return verdict.then(apply);
    apply(verdict);
    return undefined;
  }

  private refusal(name: RateName, limit: number, { waitMs }: RateVerdict): AppError {
    this.parts.onRefused(`${name}_per_minute`);
    const message = `You may have ${limit} ${name} a minute`;
    return new AppError('rate_limit_exceeded', message, { retryAfterSeconds: Math.ceil(waitMs / 1_000) });
  }
}

/** OpenAI's notation: `1m6s`. */
function shownTime(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
