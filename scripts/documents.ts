// Every generated document of the repository: path → text. Writing them is generate-docs.ts, the check that they are
// current is documents.test.ts.
import * as prettier from 'prettier';
import { printEnvironmentExample, printJsonSchema, printReference } from '#libs/config/print-reference.js';
import { errorMeanings } from '#libs/schemas/error-meanings.js';
import { ERRORS, TOOL_ERROR_CODES, type ErrorCode } from '#libs/schemas/errors.js';

export async function generatedDocuments(): Promise<Map<string, string>> {
  const documents = new Map([
    ['.env.example', printEnvironmentExample()],
    ['config/signalbox.schema.json', printJsonSchema()],
    ['docs/configuration.md', printReference()],
    ['docs/errors.md', printErrors()],
  ]);
  const options = await prettier.resolveConfig('package.json');
  for (const [path, text] of documents) {
    if (path.endsWith('.md') || path.endsWith('.schema.json')) {
      documents.set(path, await prettier.format(text, { ...options, filepath: path }));
    }
  }
  return documents;
}

function printErrors(): string {
  const codes = (Object.keys(ERRORS) as ErrorCode[]).sort(
    (left, right) => ERRORS[left].http - ERRORS[right].http || left.localeCompare(right),
  );
  const rows = codes.map((code) => {
    const { http, type, retryable } = ERRORS[code];
    return `| ${http} | \`${type}\` | \`${code}\` | ${retryable ? 'yes' : ''} | ${errorMeanings[code]} |`;
  });
  return `# Errors

<!-- Written by \`npm run docs:generate\` from libs/schemas/errors.ts. -->

Every error has one shape, on every path, in JSON and as an event of a stream:

\`\`\`json
{ "error": { "message": "…", "type": "invalid_request_error", "code": "invalid_value", "param": "messages[0].role", "request_id": "req_…" } }
\`\`\`

\`param\` and \`tool_name\` are there where they say something. *Retry* means that the same request may succeed later; such
answers carry \`Retry-After\`. \`signalbox_errors_total{type,code}\` counts them.

| status | type | code | retry | meaning |
|---|---|---|---|---|
${rows.join('\n')}

## In a tool's result

In a chat these do not fail the turn: the model is given them as the result of its call (\`result.error.code\`).

${[...TOOL_ERROR_CODES]
  .sort()
  .map((code) => `\`${code}\``)
  .join(', ')}
`;
}
