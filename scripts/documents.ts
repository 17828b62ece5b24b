// Every generated document of the repository: path → text. Writing them is generate-docs.ts, the check that they are
// current is documents.test.ts.
import { readFile } from 'node:fs/promises';
import * as prettier from 'prettier';
import type { Registry } from 'prom-client';
import { parse, stringify } from 'yaml';
import { printEnvironmentExample, printJsonSchema, printReference } from '#libs/config/printing/print-reference.js';
import { createChimechMetrics } from '#libs/metrics/chimech-metrics.js';
import { createMetrics } from '#libs/metrics/metrics.js';
import { errorTable, toolErrorCodes, type ErrorCode } from '#libs/schemas/errors.js';
import { openApiDocument, routesOf } from '../apps/gateway/http/openapi/open-api-document.js';
import { printClientTypes } from './client-types.js';
import { gatewayControllers } from './gateway-controllers.js';

export async function generatedDocuments(): Promise<Map<string, string>> {
  const openApi = openApiDocument(routesOf(await gatewayControllers()));
  const documents = new Map([
    ['.env.example', printEnvironmentExample()],
    ['config/signalbox.schema.json', printJsonSchema()],
    ['docs/configuration.md', printReference()],
    ['docs/errors.md', printErrors()],
    ['docs/metrics.md', await printMetrics()],
    ['k8s/monitoring/prometheus-rule.yaml', await printPrometheusRule()],
    ['docs/openapi.json', `${JSON.stringify(openApi, null, 2)}\n`],
    ['clients/typescript/src/answers.ts', printClientTypes(openApi.components.schemas)],
  ]);
  const options = await prettier.resolveConfig('package.json');
  for (const [path, text] of documents) {
    if (/\.(?:md|schema\.json|yaml|ts)$/.test(path)) {
      documents.set(path, await prettier.format(text, { ...options, filepath: path }));
    }
  }
  return documents;
}

/** For the Prometheus operator; kustomize cannot make it from the file itself. */
async function printPrometheusRule(): Promise<string> {
  const { groups } = parse(await readFile('config/prometheus/alerts.yml', 'utf8')) as { groups: unknown[] };
  const metadata = { name: 'signalbox' };
  const rule = { apiVersion: 'monitoring.coreos.com/v1', kind: 'PrometheusRule', metadata, spec: { groups } };
  return `# Written by \`npm run docs:generate\` from config/prometheus/alerts.yml.\n${stringify(rule, { blockQuote: 'literal', lineWidth: 0 })}`;
}

function printErrors(): string {
  const codes = (Object.keys(errorTable) as ErrorCode[]).sort(
    (left, right) => errorTable[left].http - errorTable[right].http || left.localeCompare(right),
  );
  const rows = codes.map((code) => {
    const { http, type, retryable } = errorTable[code];
    return `| ${http} | \`${type}\` | \`${code}\` | ${retryable ? 'yes' : ''} | ${errorMeanings[code]} |`;
  });
  return `# Errors

<!-- Written by \`npm run docs:generate\` from libs/schemas/errors.ts. -->

Every error has one shape, on every path, in JSON and as an event of a stream:

\`\`\`json
{ "error": { "message": "…", "type": "invalid_request_error", "code": "invalid_value", "param": "messages[0].role", "request_id": "req_…" } }
\`\`\`

\`param\` and \`tool_name\` are only present if they apply. *Retry* means that the same request may succeed later; such
answers carry \`Retry-After\`. \`signalbox_errors_total{type,code}\` counts them.

| status | type | code | retry | meaning |
|---|---|---|---|---|
${rows.join('\n')}

## In a tool's result

In a chat these do not fail the turn: the model is given them as the result of its call (\`result.error.code\`).

${[...toolErrorCodes]
  .sort()
  .map((code) => `\`${code}\``)
  .join(', ')}
`;
}

async function printMetrics(): Promise<string> {
  const ours = await metricRows(createMetrics({ processMetrics: false }).registry);
  const ofChimech = await metricRows(createChimechMetrics({ processMetrics: false }).registry);
  return `# Metrics

<!-- Written by \`npm run docs:generate\` from libs/metrics. -->

\`GET /metrics\` of every process: open to this machine, elsewhere with \`Authorization: Bearer <METRICS_TOKEN>\`. Node's own
metrics are there too. Labels are bounded: tool names that do not exist, and models that never answered, are \`other\`.
\`outcome\` is \`ok\`, \`cancelled\` or an [error code](errors.md).

${ours}

## Of Chimech

What a process of [Chimech](chimech.md) has, with Node's own. In a worker its calls are counted as those of any server.

${ofChimech}
`;
}

async function metricRows(registry: Registry): Promise<string> {
  const metrics = registry.getMetricsAsArray() as unknown as { name: string; help: string; labelNames: string[] }[];
  const types = new Map((await registry.getMetricsAsJSON()).map(({ name, type }) => [name, String(type)]));
  const rows = metrics.map(({ name, help, labelNames }) => {
    const labels = labelNames.filter((label) => label !== 'le').map((label) => `\`${label}\``);
    return `| \`${name}\` | ${types.get(name)} | ${labels.join(', ')} | ${help} |`;
  });
  return `| metric | type | labels | meaning |
|---|---|---|---|
${rows.join('\n')}`;
}

/** What each error code means to the client that receives it. */
const errorMeanings: Readonly<Record<ErrorCode, string>> = {
  invalid_json: 'The body is not JSON.',
  invalid_value: 'A field is missing, has the wrong type or is out of range; `param` names it.',
  too_many_tools: 'More tools are offered than a request may have or the provider accepts.',
  context_length_exceeded: 'The messages do not fit into the context window of the model.',
  turn_expired: 'The calls that these tool messages answer are no longer stored.',
  reserved_name: 'A tool has a name that the gateway keeps for itself.',
  invalid_api_key: 'The key is unknown, expired or revoked, or the token is not valid.',
  tool_forbidden: 'The key does not allow this tool. What the policy does not allow is `tool_denied` (422).',
  model_forbidden: 'The key does not allow this model.',
  insufficient_scope: 'The key or token lacks the scope that this path needs.',
  origin_forbidden: 'The Origin of the request is not in `server.allowed_origins`.',
  host_forbidden: 'The Host header is not accepted by this gateway; see `server.allowed_hosts`.',
  not_found: 'There is nothing at this path.',
  model_not_found: 'No provider has this model.',
  session_not_found: 'This caller has no such session.',
  run_not_found: 'This caller has no such run.',
  response_not_found: 'This caller has no such stored response.',
  previous_response_not_found: '`previous_response_id` is not a stored response of this caller.',
  approval_not_found: 'This caller has no such approval.',
  file_not_found: 'There is no such file in the workspace.',
  tool_not_found: 'No tool has this name; 400 if a chat names it in `tool_choice`.',
  tool_change_not_found: 'No change with this hash is held back: it was decided, or the server now lists another one.',
  method_not_allowed: 'The path exists, but not with this method.',
  precondition_failed:
    'The file is not the version that `If-Match`, `If-None-Match` or `If-Unmodified-Since` asks for.',
  unsupported_media_type: 'The body must be `application/json`.',
  range_not_satisfiable: 'The requested range lies outside the file.',
  idempotency_mismatch: 'This Idempotency-Key was used with another request.',
  run_in_progress: 'The run has not ended, so it cannot be replayed yet.',
  approval_already_decided: 'This approval was already decided, it has expired, or its call has ended.',
  audit_unprovable: 'This row of the audit cannot be proved; the message says why.',
  request_too_large: 'The body is larger than `limits.body_bytes`.',
  workspace_quota_exceeded: 'The workspace would grow beyond its bytes, files or depth.',
  rate_limit_exceeded: 'Too many requests or tokens in a minute.',
  concurrency_exceeded: 'Too many turns, calls or MCP sessions at once.',
  too_many_approvals: 'More calls of this caller wait for an approval than `limits.waiting_approvals`.',
  budget_exceeded: 'The budget of the key for the day or the month is used up.',
  internal_error: 'A bug in Signalbox; the log has the cause under the request id.',
  model_error: 'The provider answered with an error; the message has its status.',
  model_bad_response: 'The provider sent an invalid answer.',
  model_stream_cut: 'The provider stopped in the middle of its answer.',
  model_unavailable: 'The provider failed repeatedly and is not called for a while.',
  queue_full: 'More tool calls are waiting than `limits.queue_length`.',
  shutting_down: 'This gateway is stopping.',
  no_worker: 'Tools are needed, but no worker is running.',
  store_unavailable: 'The database or the queue does not answer, or is full.',
  issuer_unavailable: 'The OIDC issuer is unavailable, so this token cannot be verified.',
  workspace_disk_full:
    'The file system of the workspaces has less free space than `workspaces.min_free_bytes`: no files will be written there.',
  workspace_unavailable: 'The directory of the workspaces cannot be written: /health/ready names its setting.',
  model_timeout: 'The provider took too long to connect, to start its answer, or to continue it.',
  tool_timeout: 'The tool took longer than its deadline.',
  tool_failed: 'The tool answered with an error.',
  tool_crashed: 'The tool server ended during the call.',
  tool_unavailable: 'The tool server cannot be reached.',
  tool_outcome_unknown:
    'A worker died during the call, or the store became unavailable as it began: it may or may not have taken effect.',
  tool_denied: 'The policy refuses this call. What the key does not allow is `tool_forbidden` (403).',
  approval_required:
    'The call waits for an approval and has not run; the message says where to approve. The tools API answers 202 with the approval instead.',
  approval_denied: 'A person refused this call.',
  approval_expired: 'Nobody decided about this call in time.',
  invalid_tool_arguments: 'The arguments are not JSON, or do not match the schema of the tool.',
  invalid_tool_result: 'The result violates the protocol or does not match the output schema of the tool.',
  result_too_large: 'The result is larger than the limit (`tools.max_read_bytes`).',
  path_outside_workspace: 'The path leads outside the workspace of the session.',
  isolation_too_low: 'The server would run with less isolation than required.',
  connection_needed: 'The caller has not signed in at the tool server; until then the tool does not run.',
  cancelled: 'The call was cancelled: the caller left, or the run was stopped.',
};
