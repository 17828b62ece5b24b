import { expect } from 'vitest';
import { configuredServer } from '../../../../test/support/configured-server.js';
import { verifies } from '../../../../test/verifies.js';
import type { ListedOffers } from '../servers/list-pages.js';
import { readOffers } from './read-offers.js';

const server = configuredServer({
  isolation: 'remote',
  open: () => Promise.reject(new Error('not opened here')),
});
const listed = (given: Partial<ListedOffers>): ListedOffers => ({
  resources: [],
  templates: [],
  prompts: [],
  instructions: undefined,
  completes: false,
  subscribes: false,
  ...given,
});
const resource = (uri: string, more: object = {}) => ({ uri, name: 'x', ...more });

verifies('tools.offers-read', 'what cannot be used is left out and reported, the rest stays', async () => {
  const { offers, refused } = readOffers(
    server,
    listed({
      resources: [
        resource('doc:a', { description: null, mimeType: 5, annotations: { priority: 'high' }, size: -1, foreign: {} }),
        resource('doc:a'),
        resource('no uri'),
        resource('doc:\u200b'),
        resource(`doc:${'x'.repeat(5_000)}`),
        null,
        'text',
        resource('doc:large', { _meta: { x: 'x'.repeat(70_000) } }),
      ],
      templates: [{ uriTemplate: 'doc:{id}', name: 'x' }, { uriTemplate: 5 }],
      prompts: [{ name: 'fine', arguments: [{ name: 'a', required: 'yes' }] }, { name: 'two words' }, {}],
    }),
  );
  expect(offers.resources).toEqual([{ uri: 'doc:a', name: 'x' }]);
  expect(offers.templates).toEqual([{ uriTemplate: 'doc:{id}', name: 'x' }]);
  expect(offers.prompts).toMatchObject([{ name: 'fine', arguments: [{ name: 'a' }] }]);
  expect(refused).toHaveLength(10);
  expect(refused).toContain('resource doc:a: listed twice, the first one stays');
});

verifies('tools.offers-read', 'all entries of a server together are bounded', async () => {
  const large = Array.from({ length: 200 }, (_, at) => resource(`doc:${at}`, { _meta: { x: 'x'.repeat(60_000) } }));
  const { offers, refused } = readOffers(server, listed({ resources: large, instructions: 'x'.repeat(100_000) }));
  expect(Buffer.byteLength(JSON.stringify(offers.resources))).toBeLessThan(4.2 * 1024 * 1024);
  expect(offers.resources.length).toBeGreaterThan(50);
  expect(offers.resources.length + refused.length).toBe(200);
  expect(offers.instructions).toHaveLength(16 * 1024);
});
