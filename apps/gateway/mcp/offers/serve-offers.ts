// Serves the resources and prompts of all servers to MCP clients: lists, reads, and completions of arguments.
import type {
  CompleteResult,
  GetPromptResult,
  InputRequiredResult,
  ReadResourceResult,
  Server,
  ServerContext,
} from '@modelcontextprotocol/server';
import { exchangeOf } from '#libs/mcp-server/endpoint/exchange.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { KeyedCaller } from '../../govern/tool-policy.js';
import type { ToolCatalog } from '../../tools/tool-catalog.js';
import type { Wait } from '#libs/waits/wait.js';
import { type AskingCall, howToAsk } from '../ask-client.js';
import { askingProgress, type WaitDecisions } from '../ask-for-approval.js';
import { untilDecided } from '../until-decided.js';
import { type AnswerPorts, answer } from '../answer-request.js';
import { nameMetaKey, serverMetaKey } from '../list-tools.js';
import { pageOf } from '../page-of.js';
import { callerOf, type McpCaller } from '../caller-of.js';
import { unlistedResources } from './app-resources.js';
import { type CallerOffersPorts, CallerOffers, type OfferAsker } from './caller-offers.js';
import type { Named } from './named-offers.js';
import type { ResourceLinks } from './resource-links.js';

export interface OfferPorts extends AnswerPorts, CallerOffersPorts {
  catalog: CallerOffersPorts['catalog'] & Pick<ToolCatalog, 'list'>;
  links: ResourceLinks;
  approvals: WaitDecisions;
}

export function serveOffers(server: Server, ports: OfferPorts): void {
  const offers = new CallerOffers(ports);
  server.setRequestHandler('resources/list', ({ params }, request) =>
    answer(ports, request, () => {
      const { shown, next } = pageOf(offers.resources(lister(request)), { cursor: params?.cursor, nameOf });
      return { resources: shown.map((each) => listed(each, { uri: each.name })) as never, ...next };
    }),
  );
  server.setRequestHandler('resources/templates/list', ({ params }, request) =>
    answer(ports, request, () => {
      const { shown, next } = pageOf(offers.templates(lister(request)), { cursor: params?.cursor, nameOf });
      return { resourceTemplates: shown.map((each) => listed(each, { uriTemplate: each.name })) as never, ...next };
    }),
  );
  server.setRequestHandler('prompts/list', ({ params }, request) =>
    answer(ports, request, () => {
      const { promptNames } = offers.named;
      const toListed = (each: Named<JsonObject>) => {
        const name = promptNames.toWire(each.name);
        if (name === each.name) return listed(each, { name });
        const entry = listed(each, { name, title: each.item['title'] ?? each.name });
        return { ...entry, _meta: { ...entry._meta, [nameMetaKey]: each.name } };
      };
      const { shown, next } = pageOf(offers.prompts(lister(request)), { cursor: params?.cursor, nameOf });
      return { prompts: shown.map(toListed) as never, ...next };
    }),
  );
  server.setRequestHandler('resources/read', ({ params }, request) =>
    answer(ports, request, () =>
      whileAsking(ports, { server, request }, async (asker) => {
        const contents = await offers.read({ uri: params.uri }, asker);
        return { contents: contents as ReadResourceResult['contents'] };
      }),
    ),
  );
  server.setRequestHandler('prompts/get', ({ params: { name, arguments: args = {} } }, request) =>
    answer(ports, request, () =>
      whileAsking(ports, { server, request }, async (asker) => {
        const prompt = await offers.prompt({ name, arguments: args }, asker);
        return prompt as unknown as GetPromptResult;
      }),
    ),
  );
  server.setRequestHandler('completion/complete', ({ params: { ref, argument, context } }, request) =>
    answer(ports, request, async () => {
      const asked = { ref, argument, ...(context === undefined ? {} : { context: { ...context } }) };
      return (await offers.complete(asked, askerOf(ports, { server, request }))) as unknown as CompleteResult;
    }),
  );
}

const nameOf = ({ name }: { name: string }): string => name;

const lister = ({ http }: ServerContext): KeyedCaller => exchangeOf(http?.req).context;

function askerOf({ catalog, links }: OfferPorts, asking: AskingCall): McpCaller & OfferAsker {
  const asker = callerOf(asking);
  const owner = { principal: asker.caller.principal, sessionId: asker.sessionId };
  return { ...asker, linked: unlistedResources(catalog, links, owner) };
}

/** Passes what the tool server asks meanwhile, and where the caller has to sign in, to the client. @throws as `work` */
function whileAsking<Result>(
  ports: OfferPorts,
  asking: AskingCall,
  work: (asker: OfferAsker) => Promise<Result>,
): Promise<Result | InputRequiredResult> {
  const { approvals } = ports;
  const { report, ...asker } = askerOf(ports, asking);
  const questions = howToAsk(asking);
  const caller = { ...asker.caller, ...(questions === undefined ? {} : { questions }) };
  const asked: OfferAsker = {
    ...asker,
    caller,
    waitId: asking.request.mcpReq.requestState<string>(),
    report: askingProgress({ asking, caller, approvals }, report),
  };
  const goOn = ({ id }: Wait) => work({ ...asked, waitId: id });
  return untilDecided(() => work(asked), goOn, { asking, caller, approvals });
}

function listed({ item, owner }: Named<JsonObject>, names: JsonObject): JsonObject & { _meta: JsonObject } {
  const meta = item['_meta'] as JsonObject | undefined;
  return { ...item, ...names, _meta: { ...meta, [serverMetaKey]: owner.server } };
}
