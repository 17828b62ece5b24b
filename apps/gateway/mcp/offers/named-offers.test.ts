import { expect } from 'vitest';
import type { ServerOffers } from '#libs/runs/catalog/server-offers.js';
import { verifies } from '../../../../test/verifies.js';
import { NamedOffers } from './named-offers.js';

const offering = (server: string, given: { uris?: string[]; templates?: string[]; prompts?: string[] }) => {
  const { uris = [], templates = [], prompts = [] } = given;
  const offers: ServerOffers = {
    call: { timeoutMs: 1, maxTimeoutMs: 1 },
    resources: uris.map((uri) => ({ uri, name: uri })),
    templates: templates.map((uriTemplate) => ({ uriTemplate, name: uriTemplate })),
    prompts: prompts.map((name) => ({ name })),
    completes: false,
    subscribes: false,
  };
  return { server, offers };
};
const nobody = () => undefined;

verifies(
  'mcp.resource-names',
  'a URI leads to its server, by the list, the narrowest template, or a link',
  async () => {
    const named = new NamedOffers([
      offering('first', { uris: ['doc:a'], templates: ['doc:{+path}', 'any:{x}'] }),
      offering('second', { uris: ['doc:a', 'doc:b'], templates: ['doc:pages/{id}', 'any:{x}'] }),
    ]);
    const leadsTo = (uri: string, linked: (uri: string) => string | undefined = nobody) => {
      const target = named.resource(uri, linked);
      return target === undefined ? undefined : [target.owner.server, target.uri];
    };
    expect(named.resources.map(({ name }) => name)).toEqual(['doc:a', 'signalbox://second/doc:a', 'doc:b']);
    expect(named.templates.map(({ name }) => name)).toEqual([
      'doc:{+path}',
      'any:{x}',
      'doc:pages/{id}',
      'signalbox://second/any:{x}',
    ]);
    expect(leadsTo('doc:a')).toEqual(['first', 'doc:a']);
    expect(leadsTo('signalbox://second/doc:a')).toEqual(['second', 'doc:a']);
    expect(leadsTo('doc:pages/7')).toEqual(['second', 'doc:pages/7']);
    expect(leadsTo('doc:other')).toEqual(['first', 'doc:other']);
    expect(leadsTo('any:1')).toEqual(['first', 'any:1']);
    expect(leadsTo('signalbox://second/any:1')).toEqual(['second', 'any:1']);
    expect(leadsTo('signalbox://first/doc:a')).toEqual(['first', 'doc:a']);
    expect(leadsTo('ftp:x')).toBeUndefined();
    expect(leadsTo('ftp:x', () => 'second')).toEqual(['second', 'ftp:x']);
    expect(leadsTo('ftp:x', () => 'gone')).toBeUndefined();
    expect(leadsTo('signalbox://first/ftp:x', () => 'second')).toBeUndefined();
  },
);

verifies('mcp.resource-names', 'a template with many parts and a long URI cost no time', async () => {
  const named = new NamedOffers([offering('first', { templates: [`doc:${'{a}x'.repeat(1_000)}`] })]);
  const startedAt = performance.now();
  expect(named.resource(`doc:${'x'.repeat(100_000)}y`, nobody)).toBeUndefined();
  expect(performance.now() - startedAt).toBeLessThan(1_000);
});

verifies(
  'mcp.resource-names',
  'prompts have names that the strictest client takes, and are found by both',
  async () => {
    const named = new NamedOffers([
      offering('first', { prompts: ['review', 'a.b'] }),
      offering('second', { prompts: ['review'] }),
    ]);
    expect(named.prompts.map(({ name }) => named.promptNames.toWire(name))).toEqual([
      'review',
      'a_b',
      'second__review',
    ]);
    expect(named.prompt('a_b')?.item.name).toBe('a.b');
    expect(named.prompt('a.b')?.item.name).toBe('a.b');
    expect(named.prompt('second__review')?.owner.server).toBe('second');
    expect(named.prompt('none')).toBeUndefined();
  },
);
