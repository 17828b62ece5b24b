// The checks of `signalbox doctor server NAME` for an API: its document as a worker reads it, and what answers at its address without
// credentials. Calls no operation.
import type { Config } from '#libs/config/schema.js';
import { serverAddress } from '#libs/config/servers/server-address.js';
import { whyUnreachable } from '#libs/http-client/why-unreachable.js';
import { textOfDocument } from '../../apps/worker/mcp/openapi/api-document.js';
import { type Api, readApi } from '../../apps/worker/mcp/openapi/read-api.js';
import { DocumentProblem } from '../../apps/worker/mcp/openapi/read-document.js';
import { type ApiConfig, apiOptions, documentPlace } from '../../apps/worker/mcp/servers/open-api.js';
import { describeCredentials, greet } from './diagnose-server.js';
import { findArrivals, withAccess } from './find-arrivals.js';
import { okFinding, problemFinding, type ServerFinding } from './server-finding.js';

const shownLeftOut = 5;
const readMs = 60_000;

interface DiagnosedApi {
  name: string;
  server: ApiConfig;
  config: Config;
  configDirectory: string;
  /** '': nobody. */
  principal: string;
}

export async function* diagnoseApi(diagnosed: DiagnosedApi): AsyncGenerator<ServerFinding> {
  const { server, config, configDirectory } = diagnosed;
  let api: Api;
  try {
    api = readApi(
      await textOfDocument(documentPlace(server, configDirectory), AbortSignal.timeout(readMs)),
      apiOptions(server, config.limits),
    );
  } catch (error) {
    if (!(error instanceof DocumentProblem)) throw error;
    yield problemFinding(
      'document',
      `its document ${error.message}`,
      'Correct it, or the settings of the server: docs/openapi-servers.md',
    );
    return;
  }
  const { version, operations, tools, leftOut, needed } = api;
  const largest = Math.max(0, ...tools.map((tool) => JSON.stringify(tool.definition.inputSchema).length));
  const offered = `${operations} operations, ${tools.length} tools, of which the largest schema has ${largest} characters`;
  yield okFinding('document', `it is of OpenAPI ${version} and has ${offered}`);
  for (const each of leftOut.slice(0, shownLeftOut)) yield okFinding('document', `left out: ${each}`);
  for (const { credentials, tools: names } of needed) {
    const [shown, more] = [names.slice(0, shownLeftOut).join(', '), names.length - shownLeftOut];
    const which = more > 0 ? `${shown} and ${more} more` : shown;
    yield problemFinding(
      'credentials',
      `requests do not carry ${credentials}, which its document asks for: ${which}`,
      'Set `headers`, `auth`, `identity`, `forward_headers` or the query of `base_url`, or leave these out with `operations`',
    );
  }
  // A query may be a secret.
  const { origin, pathname } = new URL(api.baseUrl);
  const shown = `${origin}${pathname}`;
  const met = await greet(shown, { method: 'GET' }).catch((error: unknown) => whyUnreachable(error));
  if (typeof met === 'string') {
    const remedy = 'Correct its base_url; its host must be reachable from where the worker runs';
    yield problemFinding('reached', `${shown} cannot be reached: ${met}`, remedy);
  } else {
    const whose = api.isFromDocument ? ', which only the document names: it has to be a public address' : '';
    yield okFinding('reached', `${shown} ${met.where}${whose}; without credentials it answers ${met.status}`);
    yield describeCredentials({ ...server, url: shown }, met.status);
  }
  const told = { ...diagnosed, server: { ...server, url: serverAddress(server) ?? shown } };
  yield* await withAccess(told, (access) => findArrivals(told, access));
}
