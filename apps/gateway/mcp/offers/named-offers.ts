// Resources, templates and prompts of all servers under the names that clients see. URIs pass unchanged: where two servers have the
// same one, it is that of the first server in configuration order, and the other's has its server in front.
import { keptFor } from '#libs/kept/kept-for.js';
import { appUriScheme } from '#libs/mcp-server/tool-app.js';
import { mapNames, type NameMapping, strictNames } from '#libs/names/map-names.js';
import { starMatcher } from '#libs/policy/tool-glob.js';
import type { OfferedPrompt, OfferedResource, OfferedTemplate } from '#libs/runs/catalog/server-offers.js';
import type { OfferingServer } from '../../tools/tool-catalog.js';

export interface Named<Item> {
  owner: OfferingServer;
  item: Item;
  /** The URI, template or name as clients see it. */
  name: string;
}

export interface ResourceTarget {
  owner: OfferingServer;
  /** The URI as the server knows it. */
  uri: string;
}

/** Where a URI leads that is neither listed nor matches a template. `only`: the server that the URI has to be one of. */
export type LinkedServer = (uri: string, only?: string) => string | undefined;

interface Matcher {
  owner: OfferingServer;
  matches: (uri: string) => boolean;
  literalLength: number;
}

/** The names of what the servers of a catalog offer. */
export const namedOffers = keptFor((offering: readonly OfferingServer[]) => new NamedOffers(offering));

/** Hosts of apps refuse a page whose URI has another scheme. */
function withServer(server: string, uri: string): string {
  return uri.startsWith(appUriScheme)
    ? `${appUriScheme}signalbox/${server}/${uri.slice(appUriScheme.length)}`
    : `signalbox://${server}/${uri}`;
}

/** The server's own URI, if `uri` has that server in front. */
function withoutServer(server: string, uri: string): string | undefined {
  for (const scheme of ['', appUriScheme]) {
    const prefix = withServer(server, scheme);
    if (uri.startsWith(prefix)) return scheme + uri.slice(prefix.length);
  }
  return undefined;
}

export class NamedOffers {
  readonly resources: readonly Named<OfferedResource>[];
  readonly templates: readonly Named<OfferedTemplate>[];
  readonly prompts: readonly Named<OfferedPrompt>[];
  /** Names of prompts as clients see them, and those of the catalog. */
  readonly promptNames: NameMapping;
  readonly hasInstructions: boolean;
  private readonly byUri: ReadonlyMap<string, Named<OfferedResource>>;
  private readonly byTemplate: ReadonlyMap<string, Named<OfferedTemplate>>;
  private readonly byPrompt: ReadonlyMap<string, Named<OfferedPrompt>>;
  private readonly matchers: readonly Matcher[];

  constructor(private readonly offering: readonly OfferingServer[]) {
    const withPrefix = ({ server }: OfferingServer, uri: string) => withServer(server, uri);
    this.byUri = namedBy(offering, ({ resources }) => resources, { keyOf: ({ uri }) => uri, other: withPrefix });
    this.byTemplate = namedBy(offering, ({ templates }) => templates, {
      keyOf: ({ uriTemplate }) => uriTemplate,
      other: withPrefix,
    });
    this.byPrompt = namedBy(offering, ({ prompts }) => prompts, {
      keyOf: ({ name }) => name,
      other: ({ server }, name) => `${server}__${name}`,
    });
    this.resources = [...this.byUri.values()];
    this.templates = [...this.byTemplate.values()];
    this.prompts = [...this.byPrompt.values()];
    this.promptNames = mapNames(this.byPrompt.keys(), strictNames);
    this.hasInstructions = offering.some(({ offers }) => offers.instructions !== undefined);
    this.matchers = offering.flatMap((owner) => owner.offers.templates.map((each) => matcherOf(owner, each)));
  }

  /** `server`: only that of this server, whose own name counts too. */
  prompt(name: string, server?: string): Named<OfferedPrompt> | undefined {
    const found = this.byPrompt.get(this.promptNames.fromWire(name));
    if (server === undefined || found?.owner.server === server) return found;
    return this.prompts.find(({ owner, item }) => owner.server === server && item.name === name);
  }

  template(uriTemplate: string, server?: string): Named<OfferedTemplate> | undefined {
    const found = this.byTemplate.get(uriTemplate);
    if (server === undefined || found?.owner.server === server) return found;
    return this.templates.find(({ owner, item }) => owner.server === server && item.uriTemplate === uriTemplate);
  }

  /** The server that has the resource: by the list, else by the templates, else by a link that one of its tools returned. */
  resource(uri: string, linked: LinkedServer, server?: string): ResourceTarget | undefined {
    const listed = this.byUri.get(uri);
    if (listed !== undefined && (server === undefined || listed.owner.server === server)) {
      return { owner: listed.owner, uri: listed.item.uri };
    }
    const named = this.offering.find((owner) =>
      server === undefined ? withoutServer(owner.server, uri) !== undefined : owner.server === server,
    );
    if (server !== undefined && named === undefined) return undefined;
    const own = (named && withoutServer(named.server, uri)) ?? uri;
    const owner = this.byTemplates(own, named) ?? this.byLink(own, linked(own, named?.server), named);
    return owner === undefined ? undefined : { owner, uri: own };
  }

  /** The URI by which clients read a resource of the server. */
  nameOf(server: string, uri: string, linked: LinkedServer): string {
    return this.resource(uri, linked)?.owner.server === server ? uri : withServer(server, uri);
  }

  /** Several templates may match: the one that leaves least open counts. */
  private byTemplates(uri: string, only: OfferingServer | undefined): OfferingServer | undefined {
    let best: Matcher | undefined;
    for (const matcher of this.matchers) {
      if (only !== undefined && matcher.owner !== only) continue;
      if (matcher.literalLength > (best?.literalLength ?? -1) && matcher.matches(uri)) best = matcher;
    }
    return best?.owner;
  }

  private byLink(
    uri: string,
    server: string | undefined,
    only: OfferingServer | undefined,
  ): OfferingServer | undefined {
    if (only?.offers.resources.some((each) => each.uri === uri) === true) return only;
    if (server === undefined || (only !== undefined && only.server !== server)) return undefined;
    return this.offering.find((each) => each.server === server);
  }
}

/** Enough to find the server: the server itself judges the URI. Linear in the URI, whatever the template is. */
function matcherOf(owner: OfferingServer, { uriTemplate }: OfferedTemplate): Matcher {
  const pattern = uriTemplate.replaceAll(/\{[^{}]*\}/g, '*');
  return { owner, matches: starMatcher(pattern), literalLength: pattern.replaceAll('*', '').length };
}

function namedBy<Item>(
  offering: readonly OfferingServer[],
  itemsOf: (offers: OfferingServer['offers']) => readonly Item[],
  { keyOf, other }: { keyOf: (item: Item) => string; other: (owner: OfferingServer, key: string) => string },
): Map<string, Named<Item>> {
  const named = new Map<string, Named<Item>>();
  for (const owner of offering) {
    for (const item of itemsOf(owner.offers)) {
      const key = keyOf(item);
      const name = named.has(key) ? other(owner, key) : key;
      if (!named.has(name)) named.set(name, { owner, item, name });
    }
  }
  return named;
}
