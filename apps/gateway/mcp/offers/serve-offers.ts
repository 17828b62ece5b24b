// Serves the resources and prompts of all servers to MCP clients: lists, reads, and completions of arguments.
import type {
  CompleteResult,
  GetPromptResult,
  ReadResourceResult,
  Server,
  ServerContext,
} from '@modelcontextprotocol/server';
import { exchangeOf } from '#libs/mcp-server/endpoint/exchange.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { KeyedCaller, MayUse } from '../../govern/tool-policy.js';
import type { OfferCatalog, ToolCatalog } from '../../tools/tool-catalog.js';
import type { AskingCall } from '../ask-client.js';
import { type AnswerPorts, answer } from '../answer-request.js';
import { nameMetaKey, serverMetaKey } from '../list-tools.js';
import { pageOf } from '../page-of.js';
import { callerOf, workspaceOf } from '../caller-of.js';
import { unlistedResources } from './app-resources.js';
import { type Named, type NamedOffers, namedOffers } from './named-offers.js';
import type { OfferRequest, OfferRequests } from './offer-requests.js';
import type { ResourceLinks } from './resource-links.js';

export interface OfferPorts extends AnswerPorts {
  catalog: OfferCatalog & Pick<ToolCatalog, 'list'>;
  mayUse: MayUse;
  offerRequests: Pick<OfferRequests, 'run'>;
  links: ResourceLinks;
}

export function serveOffers(server: Server, ports: OfferPorts): void {
  const named = () => namedOffers(ports.catalog.offering());
  server.setRequestHandler('resources/list', ({ params }, request) =>
    answer(ports, request, () => {
      const isShown = shownTo(ports, request);
      const all = named().resources.filter(({ owner, item }) => isShown('resource', owner.server, item.uri));
      const { shown, next } = pageOf(all, { cursor: params?.cursor, nameOf });
      return { resources: shown.map((each) => listed(each, { uri: each.name })) as never, ...next };
    }),
  );
  server.setRequestHandler('resources/templates/list', ({ params }, request) =>
    answer(ports, request, () => {
      const isShown = shownTo(ports, request);
      const all = named().templates.filter(({ owner, item }) => isShown('resource', owner.server, item.uriTemplate));
      const { shown, next } = pageOf(all, { cursor: params?.cursor, nameOf });
      return { resourceTemplates: shown.map((each) => listed(each, { uriTemplate: each.name })) as never, ...next };
    }),
  );
  server.setRequestHandler('prompts/list', ({ params }, request) =>
    answer(ports, request, () => {
      const isShown = shownTo(ports, request);
      const { prompts, promptNames } = named();
      const all = prompts.filter(({ owner, item }) => isShown('prompt', owner.server, item.name));
      const { shown, next } = pageOf(all, { cursor: params?.cursor, nameOf });
      const toListed = (each: Named<JsonObject>) => {
        const name = promptNames.toWire(each.name);
        if (name === each.name) return listed(each, { name });
        const entry = listed(each, { name, title: each.item['title'] ?? each.name });
        return { ...entry, _meta: { ...entry._meta, [nameMetaKey]: each.name } };
      };
      return { prompts: shown.map(toListed) as never, ...next };
    }),
  );
  server.setRequestHandler('resources/read', ({ params }, request) =>
    answer(ports, request, async () => {
      const { uri } = params;
      const owner = { principal: exchangeOf(request.http?.req).context.principal, sessionId: workspaceOf(request) };
      const target = named().resource(uri, unlistedResources(ports.catalog, ports.links, owner));
      const own = target?.uri ?? uri;
      const { blocks } = await run(
        ports,
        { server, request },
        {
          method: 'resources/read',
          owner: target?.owner,
          item: { kind: 'resource', name: own },
          shown: uri,
          params: { uri: own },
        },
      );
      const contents = blocks.flatMap((block) => (block.type === 'resource' ? [block.resource] : []));
      return { contents: contents as ReadResourceResult['contents'] };
    }),
  );
  server.setRequestHandler('prompts/get', ({ params }, request) =>
    answer(ports, request, async () => {
      const prompt = named().prompt(params.name);
      const name = prompt?.item.name ?? params.name;
      const { structuredContent } = await run(
        ports,
        { server, request },
        {
          method: 'prompts/get',
          owner: prompt?.owner,
          item: { kind: 'prompt', name },
          shown: params.name,
          params: { name, arguments: params.arguments ?? {} },
        },
      );
      return structuredContent as unknown as GetPromptResult;
    }),
  );
  server.setRequestHandler('completion/complete', ({ params }, request) =>
    answer(ports, request, async () => {
      const { ref, argument, context } = params;
      const completed = toCompleted(named(), ref);
      if (completed.owner?.offers.completes === false) return { completion: { values: [] } };
      const { structuredContent } = await run(
        ports,
        { server, request },
        {
          method: 'completion/complete',
          ...completed,
          params: { ref: completed.ref, argument, ...(context === undefined ? {} : { context: { ...context } }) },
        },
      );
      return structuredContent as unknown as CompleteResult;
    }),
  );
}

type Reference = { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string };

/** The prompt or template whose argument is completed, by the names of its server. */
function toCompleted(
  named: NamedOffers,
  ref: Reference,
): Pick<OfferRequest, 'owner' | 'item' | 'shown'> & { ref: JsonObject } {
  if (ref.type === 'ref/prompt') {
    const prompt = named.prompt(ref.name);
    const name = prompt?.item.name ?? ref.name;
    return {
      owner: prompt?.owner,
      item: { kind: 'prompt', name },
      shown: ref.name,
      ref: { type: 'ref/prompt', name },
    };
  }
  const template = named.template(ref.uri);
  const uri = template?.item.uriTemplate ?? ref.uri;
  return {
    owner: template?.owner,
    item: { kind: 'resource', name: uri },
    shown: ref.uri,
    ref: { type: 'ref/resource', uri },
  };
}

const nameOf = ({ name }: { name: string }): string => name;

function shownTo({ mayUse }: OfferPorts, { http }: ServerContext) {
  const caller: KeyedCaller = exchangeOf(http?.req).context;
  return (kind: 'resource' | 'prompt', server: string, name: string) => mayUse({ kind, server, name }, caller);
}

function listed({ item, owner }: Named<JsonObject>, names: JsonObject): JsonObject & { _meta: JsonObject } {
  const meta = item['_meta'] as JsonObject | undefined;
  return { ...item, ...names, _meta: { ...meta, [serverMetaKey]: owner.server } };
}

/** @throws AppError, also for a failure of the server */
async function run(
  ports: OfferPorts,
  asking: AskingCall,
  asked: Omit<OfferRequest, 'sessionId'>,
): Promise<ToolOutcome> {
  const { caller, sessionId, report } = callerOf(asking);
  const outcome = await ports.offerRequests.run({ ...asked, sessionId }, caller, report);
  const { error } = outcome;
  if (error !== undefined) throw new AppError(error.code, error.message);
  return outcome;
}
