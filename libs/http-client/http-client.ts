// HTTP to one origin: connections used again, each lent to one exchange at a time; deadlines, and bounds on size and on
// exchanges at once. It follows no redirect, retries nothing and decodes nothing; whoever opens an answer closes it.
import { buildConnector } from 'undici';
import { Connection } from './connection.js';
import { Exchange } from './exchange.js';
import type { ClientOptions, HttpAnswer, HttpCall, HttpRequest } from './outgoing.js';

export class HttpClient {
  private readonly url: URL;
  private readonly path: string;
  private readonly connect: buildConnector.connector;
  private readonly idle: Connection[] = [];
  private readonly all = new Set<Connection>();
  private underWay = 0;

  /** @throws AppError of the guard, for an address that may not be connected to */
  constructor(private readonly options: ClientOptions) {
    this.url = new URL(options.baseUrl);
    this.path = this.url.pathname.replace(/\/+$/, '');
    const lookup = options.guard?.lookup(this.url);
    this.connect = buildConnector({ timeout: options.timeoutMs.connect, ...(lookup !== undefined && { lookup }) });
  }

  /**
   * Resolves when the answer is there.
   * @param weight How many of the exchanges allowed it counts as.
   * @throws what `toError` makes of a failure; AppError of the guard
   */
  async open({ method, path, headers, body }: HttpRequest, call: HttpCall, weight = 1): Promise<HttpAnswer> {
    const { options } = this;
    if (this.underWay + weight > options.maxExchanges) {
      throw options.toError({ kind: 'crowded', what: `has ${options.maxExchanges} calls under way, its maximum` });
    }
    this.underWay += weight;
    const exchange = new Exchange(options, call, this.lend(), {
      onClose: () => (this.underWay -= weight),
      onOver: (connection) => this.takeBack(connection),
    });
    try {
      await exchange.begin({
        method,
        path: `${this.path}${withQuery(path, this.url.search)}`,
        headers: headers === undefined ? options.headers : { ...options.headers, ...headers },
        body: body ?? null,
      });
      return exchange;
    } catch (error) {
      const failure = exchange.failure(error);
      exchange.close();
      throw failure;
    }
  }

  /** Exchanges under way are cut. */
  async close(): Promise<void> {
    await Promise.all([...this.all].map((connection) => connection.client.destroy()));
  }

  /** The one used last is lent first, so that those not needed close. */
  private lend(): Connection {
    const idle = this.idle.pop();
    if (idle !== undefined) return idle;
    const connection = new Connection(this.url.origin, this.options.keepAliveMs, this.connect);
    this.all.add(connection);
    return connection;
  }

  private takeBack(connection: Connection): void {
    connection.release();
    this.idle.push(connection);
  }
}

/** `search` is the base address's own, '' or with its question mark. */
const withQuery = (path: string, search: string) => `${path}${path.includes('?') ? search.replace('?', '&') : search}`;
