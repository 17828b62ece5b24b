// Authenticates the caller by the key or token of the request, and checks that it may use the route. Runs before bodies are
// read and before Nest. No part of a key or token is logged, stored or passed on to tool servers. Only for their issuer, which
// exchanges it for one of a tool server, is a token kept while its request lasts.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Caller, SignIn } from '#libs/access/access.js';
import { presentedKey } from '#libs/access/api-key.js';
import { isCallToken } from '#libs/access/call-token.js';
import type { CallTokenRing } from '#libs/access/call-tokens.js';
import type { FailedSignIns } from '#libs/access/failed-sign-ins.js';
import type { AuditNotes } from '#libs/audit/audit-notes.js';
import type { KeyRing } from '#libs/access/key-ring.js';
import type { KeyStore, SignInFailure } from '#libs/access/key-store.js';
import type { TokenRing } from '#libs/access/jwt/token-ring.js';
import { admitAsOperator } from '#libs/health/operator-access.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { requestContext } from '../request-context.js';
import { routeAccess, type RouteAccess } from './route-scopes.js';

/** Audit rows a minute for failed sign-ins; one more row counts the rest. Guessing keys must not fill the disk. */
const auditedFailures = 600;
const minuteMs = 60_000;

export interface AuthenticationParts {
  ring: KeyRing;
  /** Undefined if no token issuer is configured. */
  tokens: TokenRing | undefined;
  /** Whether tokens of callers are exchanged for those of a tool server. */
  exchangesTokens: () => boolean;
  callTokens: Pick<CallTokenRing, 'signIn' | 'isRemembered' | 'verify'>;
  failures: FailedSignIns;
  store: Pick<KeyStore, 'noteFailure'>;
  notes: Pick<AuditNotes, 'write'>;
  onRefused: (limit: string) => void;
  logger: Logger;
}

/** The only route that a call token opens. */
const chatRoute = 'POST /v1/chat/completions';

const isOfSet = ({ routeOptions: { url }, params }: FastifyRequest, toolsets: readonly string[]): boolean =>
  url === '/mcp/:toolset' && toolsets.includes((params as { toolset: string }).toolset);

/** The exact reason is only in the audit. */
function messageOf({ reason }: SignInFailure): string {
  if (reason === 'token_expired') return 'This token has expired';
  return reason.startsWith('token_') ? 'This token is not valid' : 'This API key is not valid';
}

export class Authentication {
  private minute = { since: 0, failures: 0 };
  private unwritten = 0;

  constructor(private readonly parts: AuthenticationParts) {}

  /** Call before the routes are registered: a route that is missing in route-scopes.ts stops the start. */
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
    if (!ring.required) return this.noteCall(request);
    const access = routeAccess(request.method, request.routeOptions.url ?? '');
    if (access === 'open') return undefined;
    const shown = presentedKey(request.headers);
    if (access === 'anyone' && shown === undefined) return undefined;
    const credentials = shown === undefined ? ring : this.credentialsOf(shown.key);
    // Operator routes accept other credentials as well.
    if (access === 'operator' && credentials === ring && shown?.key.startsWith('sb_') !== true) return undefined;
    if (shown === undefined) {
      const or = tokens === undefined ? '' : ', or a token of the configured issuer';
      throw new AppError('invalid_api_key', `An API key is needed: Authorization: Bearer sb_…, or x-api-key${or}`);
    }
    const wait = failures.refusedFor(request.ip);
    if (wait !== undefined && !credentials.isRemembered(shown.key)) throw this.tooMany(wait);
    if (credentials === tokens && this.parts.exchangesTokens()) requestContext(request).callerToken = () => shown.key;
    const finish = (signIn: SignIn) =>
      this.admit(request, signIn, { access, header: shown.header, isOurs: credentials === this.parts.callTokens });
    const signIn = credentials.signIn(shown.key);
    return signIn instanceof Promise ? signIn.then(finish) : finish(signIn);
  }

  /** Where no keys are needed, a call token only names the tool call that asks, which is offered no tools there either. */
  private noteCall(request: FastifyRequest): Promise<void> | undefined {
    const { authorization } = request.headers;
    if (authorization?.startsWith('Bearer sbc_') !== true) return undefined;
    return this.parts.callTokens.verify(authorization.slice('Bearer '.length)).then((claims) => {
      if ('callId' in claims) requestContext(request).parentCall = claims.callId;
    });
  }

  private credentialsOf(key: string): KeyRing | TokenRing | AuthenticationParts['callTokens'] {
    const { ring, tokens, callTokens } = this.parts;
    if (isCallToken(key)) return callTokens;
    return tokens?.hasForm(key) === true ? tokens : ring;
  }

  private admit(
    request: FastifyRequest,
    signIn: SignIn,
    { access, header, isOurs }: { access: RouteAccess | undefined; header: string; isOurs: boolean },
  ): Promise<never> | undefined {
    if ('reason' in signIn) return this.refuse(request, signIn, isOurs && signIn.reason !== 'token_invalid');
    const { caller } = signIn;
    if (caller.toolsets !== undefined && !isOfSet(request, caller.toolsets))
      return this.refuse(request, { reason: 'token_audience', principal: caller.principal });
    const scope = access === 'operator' ? 'admin' : access;
    if (caller.parentCall !== undefined) {
      if (`${request.method} ${request.routeOptions.url}` !== chatRoute) {
        throw new AppError('insufficient_scope', `A call token is only valid for ${chatRoute}`);
      }
    } else if (scope !== undefined && scope !== 'open' && scope !== 'anyone' && scope !== 'key') {
      // Unknown addresses get their 404 regardless of scopes.
      if (!caller.access.scopes.includes(scope)) {
        const what = caller.keyId === undefined ? 'token' : 'key';
        throw new AppError('insufficient_scope', `This ${what} lacks the scope ${scope}`);
      }
      if (scope === 'admin') admitAsOperator(request.raw);
    }
    this.identify(request, caller, header);
    return undefined;
  }

  private identify(request: FastifyRequest, { principal, keyId, access, parentCall }: Caller, header: string): void {
    const context = requestContext(request);
    const read = context.header;
    context.principal = principal;
    context.keyId = keyId;
    context.access = access;
    context.parentCall = parentCall;
    context.roles = access.roles;
    // The key is secret: tool servers that ask for this header do not get it.
    context.header = (name) => (name === header ? undefined : read?.(name));
  }

  /** `isSigned`: we signed the token, so nobody guesses. All callers of a worker share the worker's address. */
  private async refuse(request: FastifyRequest, failure: SignInFailure, isSigned = false): Promise<never> {
    const { failures, store, logger } = this.parts;
    const wait = isSigned ? undefined : await failures.add(request.ip);
    // No row for this failure: an address gets no more rows a minute than it may try keys.
    if (wait !== undefined) {
      this.countUnwritten();
      throw this.tooMany(wait);
    }
    const now = performance.now();
    if (now - this.minute.since > minuteMs) this.minute = { since: now, failures: 0 };
    if (this.minute.failures++ < auditedFailures) {
      store.noteFailure(failure, requestContext(request)).catch((error: unknown) => {
        logger.warn({ error }, 'a failed sign-in could not be audited');
      });
    } else this.countUnwritten();
    throw new AppError('invalid_api_key', messageOf(failure));
  }

  /** One row a minute counts the failures without a row. */
  private countUnwritten(): void {
    this.unwritten += 1;
    if (this.unwritten > 1) return;
    const write = () => {
      const name = `${this.unwritten} more`;
      this.unwritten = 0;
      this.parts.notes
        .write({ kind: 'sign_in_failed', state: 'more', success: false, name })
        .catch((error: unknown) => {
          this.parts.logger.warn({ error }, 'failed sign-ins could not be audited');
        });
    };
    setTimeout(write, minuteMs).unref();
  }

  private tooMany(retryAfterSeconds: number): AppError {
    this.parts.onRefused('failed_sign_ins');
    return new AppError('rate_limit_exceeded', 'Too many invalid keys from this address', { retryAfterSeconds });
  }
}
