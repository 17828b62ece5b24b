// Authenticates the caller by the key or token of the request, and checks that it may use the route. Runs before bodies are
// read and before Nest. No part of a key or token is logged, stored or passed on to tool servers.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { shownKey } from '#libs/access/api-key.js';
import type { FailedSignIns } from '#libs/access/failed-sign-ins.js';
import type { KeyRing, SignIn } from '#libs/access/key-ring.js';
import type { KeyStore, SignInFailure } from '#libs/access/key-store.js';
import type { TokenRing, TokenSignIn } from '#libs/access/jwt/token-ring.js';
import { admitAsOperator } from '#libs/health/operator-access.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Access } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { requestContext } from '../request-context.js';
import { routeAccess, type RouteAccess } from './route-scopes.js';

/** Rows of the audit a minute: who guesses keys must not fill the disk. */
const auditedFailures = 600;
const minuteMs = 60_000;

export interface AuthenticationParts {
  ring: KeyRing;
  /** Undefined if no token issuer is configured. */
  tokens: TokenRing | undefined;
  failures: FailedSignIns;
  store: Pick<KeyStore, 'noteFailure'>;
  onRefused: (limit: string) => void;
  logger: Logger;
}

interface Caller {
  principal: string;
  keyId?: string;
  access: Access;
}

/** The exact reason is only in the audit. */
function messageOf({ reason }: SignInFailure): string {
  if (reason === 'token_expired') return 'This token has expired';
  return reason.startsWith('token_') ? 'This token is not valid' : 'This API key is not valid';
}

export class Authentication {
  private minute = { since: 0, failures: 0 };

  constructor(private readonly parts: AuthenticationParts) {}

  /** Call it before the routes are registered: a route that is missing in route-scopes.ts stops the start. */
  watchRoutes(fastify: FastifyInstance): void {
    fastify.addHook('onRoute', ({ method, url }) => {
      for (const each of [method].flat()) {
        if (routeAccess(each, url) === undefined) throw new Error(`${each} ${url} is not in route-scopes.ts`);
      }
    });
  }

  /**
   * Puts the caller into the request's context. Returns a promise only if that needs a lookup.
   * @throws AppError invalid_api_key, insufficient_scope, rate_limit_exceeded, store_unavailable, issuer_unavailable
   */
  authenticate(request: FastifyRequest): Promise<void> | undefined {
    const { ring, tokens, failures } = this.parts;
    if (!ring.required) return undefined;
    const access = routeAccess(request.method, request.routeOptions.url ?? '');
    if (access === 'open') return undefined;
    const shown = shownKey(request.headers);
    const credentials = shown !== undefined && tokens?.hasForm(shown.key) === true ? tokens : ring;
    // Operator routes accept other credentials as well.
    if (access === 'operator' && credentials === ring && shown?.key.startsWith('sb_') !== true) return undefined;
    if (shown === undefined) {
      const or = tokens === undefined ? '' : ', or a token of the configured issuer';
      throw new AppError('invalid_api_key', `An API key is needed: Authorization: Bearer sb_…, or x-api-key${or}`);
    }
    const wait = failures.refusedFor(request.ip);
    if (wait !== undefined && !credentials.isRemembered(shown.key)) throw this.tooMany(wait);
    const finish = (signIn: SignIn | TokenSignIn) => this.admit(request, signIn, { access, header: shown.header });
    const signIn = credentials.signIn(shown.key);
    return signIn instanceof Promise ? signIn.then(finish) : finish(signIn);
  }

  private admit(
    request: FastifyRequest,
    signIn: SignIn | TokenSignIn,
    { access, header }: { access: RouteAccess | undefined; header: string },
  ): Promise<never> | undefined {
    if ('reason' in signIn) return this.refuse(request, signIn);
    const caller =
      'token' in signIn ? signIn.token : { principal: signIn.key.owner, keyId: signIn.key.id, access: signIn.key };
    const scope = access === 'operator' ? 'admin' : access;
    // Unknown addresses get their 404 regardless of scopes.
    if (scope !== undefined && scope !== 'open' && scope !== 'key' && !caller.access.scopes.includes(scope)) {
      const what = 'token' in signIn ? 'token' : 'key';
      throw new AppError('insufficient_scope', `This ${what} lacks the scope ${scope}`);
    }
    if (scope === 'admin') admitAsOperator(request.raw);
    this.identify(request, caller, header);
    return undefined;
  }

  private identify(request: FastifyRequest, { principal, keyId, access }: Caller, header: string): void {
    const context = requestContext(request);
    const read = context.header;
    context.principal = principal;
    if (keyId !== undefined) context.keyId = keyId;
    context.access = access;
    context.roles = access.roles;
    // Its value is secret: tool servers that ask for this header do not get it.
    context.header = (name) => (name === header ? undefined : read?.(name));
  }

  private async refuse(request: FastifyRequest, failure: SignInFailure): Promise<never> {
    const { failures, store, logger } = this.parts;
    const wait = await failures.add(request.ip);
    // Has no row of its own: so an address has as many a minute as it may try keys.
    if (wait !== undefined) throw this.tooMany(wait);
    const now = performance.now();
    if (now - this.minute.since > minuteMs) this.minute = { since: now, failures: 0 };
    if (this.minute.failures++ < auditedFailures) {
      store.noteFailure(failure, requestContext(request)).catch((error: unknown) => {
        logger.warn({ error }, 'a failed sign-in could not be audited');
      });
    }
    throw new AppError('invalid_api_key', messageOf(failure));
  }

  private tooMany(retryAfterSeconds: number): AppError {
    this.parts.onRefused('failed_sign_ins');
    return new AppError('rate_limit_exceeded', 'Too many wrong keys from this address', { retryAfterSeconds });
  }
}
