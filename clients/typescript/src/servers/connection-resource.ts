// The caller's connections to tool servers.
import type { BegunSignIn, Connection } from '../answers.js';
import type { CallOptions, Http } from '../http.js';

export class ConnectionResource {
  constructor(private readonly http: Http) {}

  /** Every tool server that the caller connects to, connected or not. */
  async list(options?: CallOptions): Promise<Connection[]> {
    const { data } = await this.http.json<{ data: Connection[] }>({ method: 'GET', path: '/api/connections' }, options);
    return data;
  }

  /** The user opens the address in a browser. `returnTo`: a path of the console, or an address of an allowed origin. */
  begin(server: string, { returnTo, ...options }: CallOptions & { returnTo?: string } = {}): Promise<BegunSignIn> {
    return this.http.json({ method: 'POST', path: pathOf(server), json: { return_to: returnTo } }, options);
  }

  /** The secrets of a server of kind `headers`. */
  giveHeaders(server: string, headers: Readonly<Record<string, string>>, options?: CallOptions): Promise<Connection> {
    return this.http.json({ method: 'POST', path: pathOf(server), json: { headers } }, options);
  }

  async end(server: string, options: CallOptions = {}): Promise<void> {
    await this.http.send({ method: 'DELETE', path: pathOf(server) }, options, () => undefined);
  }
}

const pathOf = (server: string) => `/api/connections/${encodeURIComponent(server)}`;
