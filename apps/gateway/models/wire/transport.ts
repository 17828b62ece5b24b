// HTTP to one upstream: connections used again, deadlines for connecting, the first byte and silence, bounds on size and
// on calls at once. It retries nothing and reads no meaning into an answer; whoever opens an answer closes it.
import { AppError } from '#libs/schemas/errors.js';
import { Connections } from './connections.js';
import { Exchange } from './exchange.js';
import type { TransportOptions, UpstreamAnswer, UpstreamCall, UpstreamRequest } from './upstream.js';

export class Transport {
  private readonly connections: Connections;
  private readonly path: string;
  private readonly search: string;
  private underWay = 0;

  constructor(private readonly options: TransportOptions) {
    const url = new URL(options.baseUrl);
    this.path = url.pathname.replace(/\/+$/, '');
    this.search = url.search;
    this.connections = new Connections(url.origin, options.timeoutMs.connect);
  }

  /**
   * Resolves when the first byte of the body is there (or the body is empty).
   * @throws AppError model_timeout, model_error (cannot be reached), concurrency_exceeded, cancelled
   */
  async open(request: UpstreamRequest, call: UpstreamCall): Promise<UpstreamAnswer> {
    const { provider, maxConcurrency } = this.options;
    // What only asks for the list of models takes nobody's place.
    const weight = request.method === 'POST' ? 1 : 0;
    if (this.underWay + weight > maxConcurrency) {
      const message = `Model provider '${provider}' has ${maxConcurrency} calls under way, its maximum`;
      throw new AppError('concurrency_exceeded', message, { retryAfterSeconds: 1 });
    }
    this.underWay += weight;
    const exchange = new Exchange(this.options, call, this.connections.lend(), {
      onClose: () => (this.underWay -= weight),
      onOver: (connection) => this.connections.take(connection),
    });
    try {
      await exchange.begin({
        method: request.method,
        path: `${this.path}${withQuery(request.path, this.search)}`,
        headers: request.headers === undefined ? this.options.headers : { ...this.options.headers, ...request.headers },
        body: request.body ?? null,
      });
      return exchange;
    } catch (error) {
      const failure = exchange.failure(error);
      exchange.close();
      throw failure;
    }
  }

  /** Calls under way are cut. */
  async close(): Promise<void> {
    await this.connections.close();
  }
}

/** `search` is the base address's own, '' or with its question mark. */
const withQuery = (path: string, search: string) => `${path}${path.includes('?') ? search.replace('?', '&') : search}`;
