// Resources that several callers of one connection follow at the same time, at servers of both eras on the official SDK.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect } from 'vitest';
import { type OfferingServer, startOfferingServer } from '../../../../test/support/offering-server.js';
import { verifies } from '../../../../test/verifies.js';
import { ResourceSubscriptions } from './resource-subscriptions.js';

let library: OfferingServer;
beforeAll(async () => {
  library = await startOfferingServer();
});
afterAll(() => library?.close());

const signal = () => AbortSignal.timeout(10_000);
const uri = 'doc://readme';

/** Which streams its requests to listen have, so that a test can cut them. */
async function connect() {
  const streams: AbortController[] = [];
  const client = new Client({ name: 'follower', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  const transport = new StreamableHTTPClientTransport(new URL(library.url), {
    fetch: (url, init) => {
      const body = typeof init?.body === 'string' ? init.body : '';
      if (!body.includes('"subscriptions/listen"')) return fetch(url, init);
      const stream = new AbortController();
      streams.push(stream);
      return fetch(url, { ...init, signal: AbortSignal.any([stream.signal, ...(init?.signal ? [init.signal] : [])]) });
    },
  });
  await client.connect(transport);
  const subscriptions = new ResourceSubscriptions(client);
  const updated: string[] = [];
  subscriptions.onUpdated((each) => void updated.push(each));
  return { client, subscriptions, streams, updated };
}

verifies(
  'mcp.subscriptions',
  'two callers at once share a stream, and are followed again when it was cut',
  async () => {
    const { client, subscriptions, streams, updated } = await connect();
    await Promise.all([subscriptions.renew(uri, signal()), subscriptions.renew(uri, signal())]);
    streams[0]!.abort();
    await expect
      .poll(async () => {
        await subscriptions.renew(uri, signal());
        return streams.length;
      })
      .toBe(2);
    library.changes.updated(uri);
    await expect.poll(() => updated).toEqual([uri]);
    subscriptions.close();
    await client.close();
  },
);

verifies('mcp.subscriptions', 'a caller that leaves ends nothing for another one', async () => {
  const { client, subscriptions, updated } = await connect();
  const leaving = new AbortController();
  const left = subscriptions.renew(uri, leaving.signal);
  const stays = subscriptions.renew(uri, signal());
  leaving.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  await stays;
  library.changes.updated(uri);
  await expect.poll(() => updated).toEqual([uri]);
  subscriptions.close();
  await client.close();
});
