// Every generated document of the repository: path → text. Writing them is generate-docs.ts, the check that they are
// current is documents.test.ts.
import { readFile } from 'node:fs/promises';
import * as prettier from 'prettier';
import type { Registry } from 'prom-client';
import { parse, stringify } from 'yaml';
import { printEnvironmentExample, printJsonSchema, printReference } from '#libs/config/printing/print-reference.js';
import { createChimechMetrics } from '#libs/metrics/chimech-metrics.js';
import { createMetrics } from '#libs/metrics/metrics.js';
import { errorMeanings } from '#libs/schemas/error-meanings.js';
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
