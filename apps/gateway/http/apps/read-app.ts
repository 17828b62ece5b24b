// Reads what somebody needs who shows the app of a tool call: its page from the tool server, the call with its result, and the
// tools that the app may call. The page is read as any resource: by policy, queue and audit.
import type { Journal, StoredCall } from '#libs/runs/run-store.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import { appMimeType, appUriOf, isForApps } from '#libs/mcp-server/tool-app.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { isEnded, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { CatalogOf } from '../../govern/tool-policy.js';
import type { OfferRequests } from '../../mcp/offers/offer-requests.js';
import type { OfferCatalog } from '../../tools/tool-catalog.js';

export interface ReadAppPorts {
  catalog: OfferCatalog;
  catalogOf: CatalogOf;
  journal: Pick<Journal, 'get'>;
  offerRequests: Pick<OfferRequests, 'run'>;
}

export interface ReadApp {
  call: StoredCall;
  tool: CatalogTool;
  html: string;
  /** `_meta.ui` of the page. */
  ui: JsonObject;
  /** The server's names of the tools that the app may call, with those of the catalog. */
  tools: Record<string, string>;
}

/** @throws AppError not_found, invalid_tool_result, result_too_large, no_worker, and what reading a resource fails with */
export async function readApp(callId: string, caller: RequestContext, ports: ReadAppPorts): Promise<ReadApp> {
  const call = await ports.journal.get(callId);
  // An app acts with the key of whoever looks at it, so others' calls are not shown to administrators either.
  if (call?.principal !== caller.principal || call.kind !== 'server' || !isEnded(call.state)) throw noApp(callId);
  const tools = ports.catalogOf(caller).list(call.server);
  const tool = tools.find((each) => each.tool === call.tool);
  const uri = tool && appUriOf(tool);
  if (tool === undefined || uri === undefined) throw noApp(callId);
  const owner = ports.catalog.offering().find(({ server }) => server === call.server);
  const outcome = await ports.offerRequests.run(
    {
      method: 'resources/read',
      owner,
      item: { kind: 'resource', name: uri },
      shown: uri,
      params: { uri },
      sessionId: call.sessionId,
    },
    caller,
    () => undefined,
  );
  const listed = owner?.offers.resources.find((each) => each.uri === uri);
  return {
    call,
    tool,
    ...pageOf(outcome, uiOf(listed?.['_meta'])),
    tools: Object.fromEntries(tools.filter(isForApps).map((each) => [each.tool, each.name])),
  };
}

/** The metadata of the content comes before that of the list. */
function pageOf({ error, blocks }: ToolOutcome, listed: JsonObject | undefined): Pick<ReadApp, 'html' | 'ui'> {
  if (error !== undefined) throw new AppError(error.code, error.message);
  const resource = blocks[0]?.type === 'resource' ? blocks[0].resource : undefined;
  const mimeType = resource?.mimeType?.toLowerCase().replaceAll(/\s/g, '');
  if (resource === undefined || mimeType !== appMimeType) {
    throw new AppError('invalid_tool_result', `The page of the app is not ${appMimeType}`);
  }
  const html = resource.text ?? Buffer.from(resource.blob ?? '', 'base64').toString();
  return { html, ui: uiOf(resource._meta) ?? listed ?? {} };
}

const uiOf = (meta: unknown): JsonObject | undefined => {
  const ui = isJsonObject(meta) ? meta['ui'] : undefined;
  return isJsonObject(ui) ? ui : undefined;
};

const noApp = (callId: string) =>
  new AppError('not_found', `There is no ended call '${callId.slice(0, 64)}' of yours whose tool has an app`);
