// `signalbox tools document FILE…`: what a worker makes of OpenAPI documents with the limits of the configuration, a row each. Every schema
// is compiled as for a call. Asks nobody.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Config } from '#libs/config/schema.js';
import { compileSchema } from '#libs/json-schema/compile-schema.js';
import { readDefinitions, readStored } from '../../apps/worker/mcp/catalog/read-definitions.js';
import { readApi } from '../../apps/worker/mcp/openapi/read-api.js';
import { DocumentProblem } from '../../apps/worker/mcp/openapi/read-document.js';

interface MeasuredDocument {
  file: string;
  version: string;
  operations: number;
  /** Those that are offered: named once, with a schema that compiles. */
  tools: number;
  seconds: number;
  largestSchemaBytes: number;
  problems: string[];
}

const compileMs = 1_000;
const shownProblems = 20;

/** Resolves with the exit code. */
export async function showDocuments(files: readonly string[], { limits }: Pick<Config, 'limits'>): Promise<0 | 1> {
  console.log('| document | OpenAPI | operations | tools | seconds | largest schema, bytes |');
  console.log('|---|---|---|---|---|---|');
  const problems: string[] = [];
  for (const file of files) {
    const measured = await measure(file, limits).catch((error: unknown) => {
      if (!(error instanceof DocumentProblem) && (error as { code?: unknown }).code === undefined) throw error;
      problems.push(`${basename(file)}: ${(error as Error).message}`);
    });
    if (measured === undefined) continue;
    const { version, operations, tools, seconds, largestSchemaBytes } = measured;
    console.log(`| ${measured.file} | ${version} | ${operations} | ${tools} | ${seconds} | ${largestSchemaBytes} |`);
    problems.push(...measured.problems.map((each) => `${measured.file}: ${each}`));
  }
  for (const each of problems.slice(0, shownProblems)) console.error(each);
  if (problems.length > shownProblems) console.error(`and ${problems.length - shownProblems} more`);
  return problems.length === 0 ? 0 : 1;
}

async function measure(file: string, limits: Config['limits']): Promise<MeasuredDocument> {
  const bounds = { maxBytes: limits.tool_schema_bytes, maxDepth: limits.tool_schema_depth };
  const text = readFileSync(file, 'utf8');
  const begunAt = performance.now();
  // Whatever address a document names, all its operations are measured.
  const api = readApi(text, { baseUrl: 'https://api.example.com', setHeaders: [], limits: bounds });
  const seconds = Number(((performance.now() - begunAt) / 1_000).toFixed(1));
  const { definitions, refused } = await readDefinitions(
    api.tools.map(({ definition }) => definition),
    bounds,
  );
  const problems = [...refused];
  let largestSchemaBytes = 0;
  for (const { tool, definition } of definitions) {
    const { inputSchema } = readStored(definition);
    largestSchemaBytes = Math.max(largestSchemaBytes, Buffer.byteLength(JSON.stringify(inputSchema)));
    try {
      compileSchema(inputSchema, { ...bounds, deadlineMs: compileMs });
    } catch (error) {
      problems.push(`${tool}: its schema does not compile: ${(error as Error).message}`);
    }
  }
  const { version, operations } = api;
  const tools = api.tools.length - problems.length;
  return { file: basename(file), version, operations, tools, seconds, largestSchemaBytes, problems };
}
