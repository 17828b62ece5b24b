// What a caller may list of the resources and prompts of all servers, and ask of them. Every API that shows them uses this; it
// knows no names but those of `named-offers.ts`.
import type { OfferedPrompt, OfferedResource, OfferedTemplate } from '#libs/runs/catalog/server-offers.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import type { ContentBlock } from '#libs/schemas/content-block.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Json, JsonObject } from '#libs/schemas/json.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { KeyedCaller, MayUse } from '../../govern/tool-policy.js';
import type { OfferCatalog } from '../../tools/tool-catalog.js';
import type { ToolProgress } from '../../turn/dispatch/tool-runner.js';
import { type LinkedServer, type Named, namedOffers, type NamedOffers } from './named-offers.js';
import type { OfferRequest, OfferRequests } from './offer-requests.js';

export interface CallerOffersPorts {
  catalog: OfferCatalog;
  mayUse: MayUse;
  offerRequests: Pick<OfferRequests, 'run'>;
}

/** Who asks, in which workspace. */
export interface OfferAsker {
  caller: RequestContext;
  sessionId: string;
  report?: (progress: ToolProgress) => void;
  /** Where links lead that no list has. */
  linked?: LinkedServer;
  /** What the asker comes back to: see `OfferRequest`. */
  waitId?: string | undefined;
}

/** `server`: only an item of that server counts. */
export interface AskedResource {
  uri: string;
  server?: string | undefined;
}

export interface AskedPrompt {
  name: string;
  server?: string | undefined;
  arguments: JsonObject;
}

export interface AskedCompletion {
  ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string };
  server?: string | undefined;
  argument: { name: string; value: string };
  context?: JsonObject | undefined;
}

/** What a server sends as the contents of a resource. */
export type ResourceContent = Extract<ContentBlock, { type: 'resource' }>['resource'];

const noServer: LinkedServer = () => undefined;
const ignore = (): void => undefined;

export class CallerOffers {
  constructor(private readonly ports: CallerOffersPorts) {}

  get named(): NamedOffers {
    return namedOffers(this.ports.catalog.offering());
  }

  resources(caller: KeyedCaller): Named<OfferedResource>[] {
    const { mayUse } = this.ports;
    return this.named.resources.filter(
      ({ owner: { server, offers }, item }) =>
        (offers.resourcesOf ?? caller.principal) === caller.principal &&
        mayUse({ kind: 'resource', server, name: item.uri }, caller),
    );
  }

  templates(caller: KeyedCaller): Named<OfferedTemplate>[] {
    const { mayUse } = this.ports;
    return this.named.templates.filter(({ owner: { server }, item }) =>
      mayUse({ kind: 'resource', server, name: item.uriTemplate }, caller),
    );
  }

  prompts(caller: KeyedCaller): Named<OfferedPrompt>[] {
    const { mayUse } = this.ports;
    return this.named.prompts.filter(({ owner: { server }, item }) =>
      mayUse({ kind: 'prompt', server, name: item.name }, caller),
    );
  }

  /** @throws AppError not_found, also for what the caller may not use; ApprovalNeeded; the failure of the server */
  async read({ uri, server }: AskedResource, asker: OfferAsker): Promise<ResourceContent[]> {
    const target = this.named.resource(uri, asker.linked ?? noServer, server);
    const own = target?.uri ?? uri;
    const asked = askedFor('resource', { owner: target?.owner, own, shown: uri });
    const { blocks } = await this.run({ ...asked, method: 'resources/read', params: { uri: own } }, asker);
    return blocks.flatMap((block) => (block.type === 'resource' ? [block.resource] : []));
  }

  /** MCP's result of `prompts/get`. @throws like `read` */
  async prompt({ name, server, arguments: args }: AskedPrompt, asker: OfferAsker): Promise<Json> {
    const prompt = this.named.prompt(name, server);
    const own = prompt?.item.name ?? name;
    const asked = askedFor('prompt', { owner: prompt?.owner, own, shown: name });
    const params = { name: own, arguments: args };
    return (await this.run({ ...asked, method: 'prompts/get', params }, asker)).structuredContent!;
  }

  /** MCP's result of `completion/complete`. @throws like `read` */
  async complete({ ref, server, argument, context }: AskedCompletion, asker: OfferAsker): Promise<Json> {
    const asked =
      ref.type === 'ref/prompt' ? ofPrompt(this.named, ref, server) : ofTemplate(this.named, ref.uri, server);
    if (asked.owner?.offers.completes === false) return { completion: { values: [] } };
    const { ref: own, ...request } = asked;
    const params = { ref: own, argument, ...(context === undefined ? {} : { context }) };
    return (await this.run({ ...request, method: 'completion/complete', params }, asker)).structuredContent!;
  }

  private async run(
    request: Omit<OfferRequest, 'sessionId'>,
    { caller, sessionId, waitId, report = ignore }: OfferAsker,
  ): Promise<ToolOutcome> {
    const outcome = await this.ports.offerRequests.run({ ...request, sessionId, waitId }, caller, report);
    const { error } = outcome;
    if (error !== undefined) throw new AppError(error.code, error.message);
    return outcome;
  }
}

type AskedItem = Pick<OfferRequest, 'owner' | 'item' | 'shown'>;
type Completed = AskedItem & { ref: JsonObject };

/** `own`: the name by which the server knows it. */
const askedFor = (
  kind: OfferRequest['item']['kind'],
  { owner, own, shown }: Pick<OfferRequest, 'owner' | 'shown'> & { own: string },
): AskedItem => ({ owner, item: { kind, name: own }, shown });

function ofPrompt(named: NamedOffers, { name }: { name: string }, server: string | undefined): Completed {
  const prompt = named.prompt(name, server);
  const own = prompt?.item.name ?? name;
  const ref = { type: 'ref/prompt', name: own };
  return { ...askedFor('prompt', { owner: prompt?.owner, own, shown: name }), ref };
}

function ofTemplate(named: NamedOffers, uri: string, server: string | undefined): Completed {
  const template = named.template(uri, server);
  const own = template?.item.uriTemplate ?? uri;
  const ref = { type: 'ref/resource', uri: own };
  return { ...askedFor('resource', { owner: template?.owner, own, shown: uri }), ref };
}
