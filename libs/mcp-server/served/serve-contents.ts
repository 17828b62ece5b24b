// Serves the resources, prompts and completions of a decorated server on one connection. What it has none of is not served.
import {
  type CompleteRequestParams,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { ServedKind } from '../decorators.js';
import { subscribe, unsubscribe } from '../endpoint/tell-change.js';
import type { ToolContext } from '../tool-context.js';
import type { ServedPrompts } from './prompts.js';
import type { ServedResources } from './resources.js';

export interface ContentRequest {
  kind: ServedKind;
  /** The URI or name that is asked for; absent for lists. */
  name?: string;
  request: ServerContext;
}

export interface ContentPorts {
  resources: ServedResources;
  prompts: ServedPrompts;
  /** Runs `work` with its context, if it is allowed. */
  run: <Result extends object>(
    request: ContentRequest,
    work: (context: ToolContext) => Promise<Result | InputRequiredResult>,
  ) => Promise<Result | InputRequiredResult>;
}

export function serveContents(server: Server, ports: ContentPorts): void {
  const { resources, prompts } = ports;
  const { resources: hasResources, prompts: hasPrompts, completions } = server.getCapabilities();
  if (hasResources !== undefined) serveResources(server, ports);
  if (hasPrompts !== undefined) servePrompts(server, ports);
  if (completions === undefined) return;
  server.setRequestHandler('completion/complete', async ({ params }, request) => {
    const { kind, name } = refOf(params);
    const { name: argument, value: typed } = params.argument;
    const asked = { typed, given: params.context?.arguments ?? {} };
    const result = await ports.run({ kind, name, request }, async (context) => {
      const found = await (kind === 'prompt' ? prompts : resources).complete(name, argument, asked, context);
      if (found === undefined)
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is nothing like that to complete');
      return found;
    });
    return result as never;
  });
}

function serveResources(server: Server, { resources, run }: ContentPorts): void {
  server.setRequestHandler(
    'resources/list',
    async (_asked, request) =>
      (await run({ kind: 'resource', request }, async (context) => ({
        resources: await resources.list(context),
      }))) as never,
  );
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: resources.templates() }));
  server.setRequestHandler('resources/read', ({ params: { uri } }, request) =>
    run({ kind: 'resource', name: uri, request }, (context) => resources.read(uri, context)),
  );
  server.setRequestHandler('resources/subscribe', async ({ params: { uri } }, request) => {
    await run({ kind: 'resource', name: uri, request }, async () => {
      if (!resources.has(uri)) throw new ResourceNotFoundError(uri);
      subscribe(server, uri);
      return {};
    });
    return {};
  });
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    unsubscribe(server, uri);
    return {};
  });
}

function servePrompts(server: Server, { prompts, run }: ContentPorts): void {
  server.setRequestHandler(
    'prompts/list',
    async (_asked, request) =>
      (await run({ kind: 'prompt', request }, async ({ signal }) => ({
        prompts: await prompts.list(signal),
      }))) as never,
  );
  server.setRequestHandler('prompts/get', ({ params }, request) =>
    run({ kind: 'prompt', name: params.name, request }, (context) =>
      prompts.get(params.name, params.arguments ?? {}, context),
    ),
  );
}

function refOf({ ref }: CompleteRequestParams): { kind: 'prompt' | 'resource'; name: string } {
  return ref.type === 'ref/prompt' ? { kind: 'prompt', name: ref.name } : { kind: 'resource', name: ref.uri };
}
