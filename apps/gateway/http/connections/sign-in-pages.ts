// The pages of a sign-in at a tool server, for browsers: no key is shown there. A sign-in is opened and completed without a question
// only in the browser that began it by the console; everybody else is shown whom it connects to what, and asked for a click. So a
// link that somebody sends connects nobody unseen, and what only looks at links (HEAD, previews) uses nothing up.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FailedSignIns } from '#libs/access/failed-sign-ins.js';
import { publicAddress } from '#libs/config/addresses/public-address.js';
import type { Config } from '#libs/config/schema.js';
import type { PendingSignIn, SignInAnswer } from '#libs/connections/oauth-flows.js';
import { SignInRefused } from '#libs/connections/sign-in-refused.js';
import { logFailure } from '#libs/logging/log-failure.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import type { ConnectionsInForce } from '../../connections/open-connections.js';
import type { Connections } from '../../connections/user-connections.js';
import { requestContext } from '../request-context.js';
import { describeFailure } from './describe-failure.js';
import { FlowCookies } from './flow-cookies.js';
import { pageLanguage, type PageWords, pageWords } from './page-words.js';
import { pageHeaders, renderPage, type SignInPage } from './render-page.js';

const maxFormBytes = 16_384;
const clientDocumentSeconds = 3_600;
const openPath = '/connections/open/:id';
const callbackPath = '/connections/callback';

export interface SignInPagesParts {
  connections: ConnectionsInForce;
  config: Pick<Config, 'server' | 'console'>;
  failures: Pick<FailedSignIns, 'add' | 'refusedFor'>;
  onRefused: (limit: string) => void;
  observe: (error: AppError) => void;
  logger: Logger;
}

export function serveSignInPages(fastify: FastifyInstance, parts: SignInPagesParts): void {
  const pages = new SignInPages(parts);
  // A scope of their own: no other route reads forms, or answers with pages.
  void fastify.register((scope, _options, done) => {
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: maxFormBytes },
      (_request, body, parsed) => parsed(null, new URLSearchParams(body as string)),
    );
    scope.setErrorHandler((error, request, reply) => pages.fail(error, request, reply));
    scope.get<{ Params: { id: string } }>(openPath, (request, reply) => pages.open(request, reply));
    scope.post<{ Params: { id: string } }>(openPath, (request, reply) => pages.goOn(request, reply));
    scope.get(callbackPath, (request, reply) => pages.callback(request, reply));
    scope.post(callbackPath, (request, reply) => pages.confirm(request, reply));
    done();
  });
  fastify.get('/.well-known/signalbox-client.json', async (_request, reply: FastifyReply) => {
    const { clientDocument } = await import('#libs/connections/issuer-clients.js');
    return reply
      .header('cache-control', `public, max-age=${clientDocumentSeconds}`)
      .header('x-content-type-options', 'nosniff')
      .type('application/json')
      .send(clientDocument(publicAddress(parts.config.server)));
  });
}

type OpenRequest = FastifyRequest<{ Params: { id: string } }>;

class SignInPages {
  private readonly publicUrl: string;

  constructor(private readonly parts: SignInPagesParts) {
    this.publicUrl = publicAddress(parts.config.server);
  }

  async open(request: OpenRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { connections, cookies } = this.opened();
    const pending = await this.guarded(request, () => connections.pending(request.params.id));
    // Secrets are typed in the console.
    if (pending.kind === 'headers') return away(reply, 302, `${this.publicUrl}/console/connections`);
    if (request.method === 'GET' && cookies.has(pending.id, request.headers.cookie)) {
      const { address } = await connections.open(pending, requestContext(request).signal);
      return away(reply, 302, address);
    }
    const words = wordsOf(request);
    return this.send(request, reply, {
      heading: words.openHeading(pending.server),
      text: words.openText,
      facts: factsOf(pending, words),
      form: { label: words.openAction },
      note: words.notYou,
    });
  }

  /** The click of `open`. */
  async goOn(request: OpenRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { connections, cookies } = this.opened();
    this.checkOwnForm(request);
    const pending = await this.guarded(request, () => connections.pending(request.params.id));
    const { flowId, address } = await connections.open(pending, requestContext(request).signal);
    return away(reply.header('set-cookie', cookies.of(flowId)), 303, address);
  }

  async callback(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { connections, cookies } = this.opened();
    const answer = readAnswer(request.url);
    const pending = await this.guarded(request, () => connections.pendingOf(answer.state));
    const isHere = cookies.has(pending.id, request.headers.cookie);
    if (isHere && request.method === 'GET') return this.complete(answer, request, reply);
    // There is nothing to go on with; the browser that opened it may still do so.
    if (answer.error !== undefined) throw new SignInRefused(answer.error);
    const words = wordsOf(request);
    return this.send(request, reply, {
      heading: words.confirmHeading(pending.server),
      text: words.confirmText,
      facts: factsOf(pending, words),
      form: { action: 'callback', label: words.confirmAction, answer: cookies.sealAnswer(answer) },
      note: words.notYou,
    });
  }

  /** The click of `callback`. */
  async confirm(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { cookies } = this.opened();
    this.checkOwnForm(request);
    const given = request.body instanceof URLSearchParams ? request.body.get('answer') : null;
    const answer = cookies.openAnswer(given ?? '');
    if (answer === undefined) throw incomplete();
    return this.complete(answer, request, reply);
  }

  fail(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const error = thrown instanceof AppError ? thrown : asAppError(thrown);
    this.parts.observe(error);
    const context = requestContext(request);
    logFailure(this.parts.logger, error, context);
    const words = wordsOf(request);
    const { status, heading, text, code } = describeFailure(error, words);
    if (error.retryAfterSeconds !== undefined) reply.header('retry-after', String(Math.ceil(error.retryAfterSeconds)));
    return this.send(request, reply.status(status), {
      tone: 'bad',
      heading,
      text,
      facts: [
        [words.code, code],
        [words.request, context.requestId],
      ],
      ...this.wayBack(undefined, words),
    });
  }

  private async complete(answer: SignInAnswer, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { connections } = this.opened();
    const context = requestContext(request);
    const { connection, returnTo } = await this.guarded(request, () => connections.complete(answer, context));
    const words = wordsOf(request);
    const { account, server } = connection;
    return this.send(request, reply, {
      tone: 'good',
      heading: words.doneHeading(server),
      text: words.doneText,
      facts: [...factsOf(connection, words), ...(account === null ? [] : [[words.account, account] as const])],
      note: words.close,
      ...this.wayBack(returnTo, words),
    });
  }

  private wayBack(returnTo: string | undefined, words: PageWords): Pick<SignInPage, 'link'> {
    if (returnTo !== undefined) return { link: { href: returnTo, label: words.back } };
    if (!this.parts.config.console.enabled) return {};
    return { link: { href: `${this.publicUrl}/console/connections`, label: words.toConsole } };
  }

  private opened(): { connections: Connections; cookies: FlowCookies } {
    const { current } = this.parts.connections;
    if (current === undefined) throw new AppError('not_found', 'There is no tool server that users connect to');
    return { connections: current, cookies: new FlowCookies(current.vault, this.publicUrl) };
  }

  /** Bounds the guesses of an address. @throws AppError rate_limit_exceeded */
  private async guarded<T>({ ip }: FastifyRequest, ask: () => Promise<T>): Promise<T> {
    const { failures, onRefused } = this.parts;
    const tooMany = (retryAfterSeconds: number) => {
      onRefused('failed_sign_ins');
      return new AppError('rate_limit_exceeded', 'Too many failed sign-ins from this address', { retryAfterSeconds });
    };
    const wait = failures.refusedFor(ip);
    if (wait !== undefined) throw tooMany(wait);
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
      const refused = await failures.add(ip);
      throw refused === undefined ? error : tooMany(refused);
    }
  }

  /** @throws AppError invalid_value */
  private checkOwnForm({ headers }: FastifyRequest): void {
    const { origin, host, 'sec-fetch-site': site } = headers;
    const own = [new URL(this.publicUrl).origin, `http://${host}`, `https://${host}`];
    if (site === 'same-origin' || (site === undefined && origin !== undefined && own.includes(origin))) return;
    throw incomplete();
  }

  private send(
    request: FastifyRequest,
    reply: FastifyReply,
    page: Omit<SignInPage, 'language' | 'tone'> & Partial<Pick<SignInPage, 'tone'>>,
  ): FastifyReply {
    const whole: SignInPage = { tone: 'plain', ...page, language: languageOf(request) };
    return reply.headers(pageHeaders(whole)).send(renderPage(whole));
  }
}

const factsOf = ({ server, principal }: Omit<PendingSignIn, 'id'>, words: PageWords): SignInPage['facts'] => [
  [words.server, server],
  [words.principal, principal],
];

const languageOf = ({ headers }: FastifyRequest) => pageLanguage(headers['accept-language']);
const wordsOf = (request: FastifyRequest): PageWords => pageWords[languageOf(request)];

const away = (reply: FastifyReply, status: number, address: string): FastifyReply =>
  reply
    .headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', vary: 'Cookie' })
    .redirect(address, status);

/** @throws AppError invalid_value */
function readAnswer(url: string): SignInAnswer {
  const { searchParams } = new URL(url, 'http://gateway.invalid');
  const only = (name: string): string | undefined => {
    const [value, second] = searchParams.getAll(name);
    if (second !== undefined) throw incomplete();
    return value;
  };
  const state = only('state');
  if (state === undefined || state === '') throw incomplete();
  return { state, code: only('code'), iss: only('iss'), error: only('error') };
}

const incomplete = () => new AppError('invalid_value', 'The address or form of the sign-in is not complete');

/** Fastify's own text may quote the request. */
function asAppError(thrown: unknown): AppError {
  const status = (thrown as { statusCode?: unknown } | null)?.statusCode;
  if (status === 413) return new AppError('request_too_large', 'The form is too large');
  return typeof status === 'number' && status < 500 ? incomplete() : toAppError(thrown);
}
