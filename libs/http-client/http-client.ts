// HTTP to one origin: reusable connections, each borrowed by one exchange at a time; deadlines, and bounds on size and
// concurrency. Follows no redirect, retries nothing and decodes nothing. The caller closes each answer that it opens.
import { buildConnector } from 'undici';
import { Connection } from './connection.js';
import { Exchange, type ExchangeClient } from './exchange.js';
import type { HttpClientOptions, HttpAnswer, HttpCall, HttpRequest } from './outgoing.js';

export class HttpClient implements ExchangeClient {
  private readonly url: URL;
  private readonly path: string;
  private readonly connect: buildConnector.connector;
  private readonly idle: Connection[] = [];
  private readonly all = new Set<Connection>();
  private underWay = 0;

  /** @throws AppError of the guard, for a forbidden address */
  constructor(readonly options: HttpClientOptions) {
    this.url = new URL(options.baseUrl);
    this.path = this.url.pathname.replace(/\/+$/, '');
    const lookup = options.guard?.lookup(this.url);
    this.connect = buildConnector({ timeout: options.timeoutMs.connect, ...(lookup !== undefined && { lookup }) });
  }

  /**
   * Resolves when the answer opens.
   * @param weight How many exchanges the request counts as against the maximum.
   * @throws what `toError` returns for a failure; AppError of the guard
   */
  open({ method, path, headers, body }: HttpRequest, call: HttpCall, weight = 1): Promise<HttpAnswer> {
    const { options } = this;
    if (this.underWay + weight > options.maxExchanges) {
      const what = `has ${options.maxExchanges} calls under way, its maximum`;
      return Promise.reject(options.toError({ kind: 'crowded', what }));
    }
    this.underWay += weight;
    return new Exchange(this, call, this.lend(), weight).begin({
      method,
      path: `${this.path}${withQuery(path, this.url.search)}`,
      headers: headers === undefined ? options.headers : { ...options.headers, ...headers },
      body: body ?? null,
    });
  }

  /** Cuts exchanges under way. */
  async close(): Promise<void> {
    await Promise.all([...this.all].map((connection) => connection.client.destroy()));
  }

  /** Reuses the connection used last, so that surplus ones time out. */
  private lend(): Connection {
    const idle = this.idle.pop();
    if (idle !== undefined) return idle;
    const connection = new Connection(this.url.origin, this.options.keepAliveMs, this.connect);
    this.all.add(connection);
    return connection;
  }

  left(weight: number): void {
    this.underWay -= weight;
  }

  takeBack(connection: Connection): void {
    connection.release();
    this.idle.push(connection);
  }
}

/** `search` is the query of the base address: '' or with its question mark. */
const withQuery = (path: string, search: string) => `${path}${path.includes('?') ? search.replace('?', '&') : search}`;
