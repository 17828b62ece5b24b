// The worker's MCP client as a client under test: `client.js URL`. Lists the tools, calls each with arguments made up from its
// schema, answers questions by their defaults and in the same way where there is none, and ends with 0 where nothing failed. What a
// suite wants called, it says in the environment. Where a server asks for it, its user signs in.
import { z } from 'zod';
import { type Answer, type Question, withDefaults } from '#libs/waits/question.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { connectHttp } from '../../apps/worker/mcp/servers/connect.js';
import type { ToolConnection } from '../../apps/worker/mcp/servers/connection.js';
import { openUser } from './signed-in-user.js';

const listedTool = z.looseObject({
  name: z.string(),
  inputSchema: z.looseObject({ properties: z.record(z.string(), z.looseObject({ type: z.unknown() })).default({}) }),
});
type ListedTool = z.infer<typeof listedTool>;

const contextSchema = z.looseObject({
  client_id: z.string().optional(),
  client_secret: z.string().optional(),
  toolCalls: z.array(z.object({ name: z.string(), arguments: z.record(z.string(), z.json()) })).default([]),
});
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
const {
  toolCalls,
  client_id: id,
  client_secret: secret,
} = contextSchema.parse(JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}'));
const signal = AbortSignal.timeout(20_000);

const url = process.argv[2]!;
const databaseUrl = process.env['CONFORMANCE_DATABASE_URL'] ?? '';
// The other scenarios are about servers without `auth`.
const isAboutAuth = scenario.startsWith('auth/');
const user = isAboutAuth ? openUser({ databaseUrl, url, client: { id, secret } }, signal) : undefined;
const access = user?.access;
const signedIn = <T>(work: () => Promise<T>): Promise<T> => user?.do(work) ?? work();
try {
  const connection = await signedIn(() =>
    connectHttp(
      {
        url,
        headers: {},
        access,
        bounds: { maxBytes: 10_000_000, connectMs: 5_000, totalMs: 60_000, maxExchanges: 16 },
      },
      { signal, cancelGraceMs: 1_000, startTimeoutMs: 20_000, needed: (error) => access?.needed(error) },
    ),
  );
  try {
    const tools = (await signedIn(() => connection.listTools(signal))).map((tool) => listedTool.parse(tool));
    if (scenario !== 'json-schema-ref-no-deref') await callTools(connection, tools);
  } finally {
    await connection.close();
  }
} finally {
  await user?.close();
}

async function callTools(connection: ToolConnection, tools: readonly ListedTool[]): Promise<void> {
  const asked =
    toolCalls.length > 0 ? toolCalls : tools.map((tool) => ({ name: tool.name, arguments: madeUp(tool, tools) }));
  for (const { name, arguments: args } of asked) {
    if (!tools.some((tool) => tool.name === name)) continue;
    const onQuestion = async ({ schema }: Question): Promise<Answer> => ({
      action: 'accept',
      content: { ...madeUp(listedTool.parse({ name: '', inputSchema: schema }), tools), ...withDefaults(schema, {}) },
    });
    const options = { signal, maxTimeoutMs: 20_000, onProgress: () => undefined, onQuestion };
    await signedIn(() => connection.callTool({ tool: name, arguments: args, meta: {} }, options));
  }
}

function madeUp({ inputSchema }: ListedTool, tools: readonly ListedTool[]): JsonObject {
  // The one scenario whose arguments are what was listed.
  if ('schema' in inputSchema.properties) return { schema: tools[0]!.inputSchema as JsonObject };
  const values: Record<string, JsonObject[string]> = { number: 2, integer: 2, boolean: true, string: 'text' };
  const entries = Object.entries(inputSchema.properties).map(([name, { type }]) => [
    name,
    values[String(type)] ?? null,
  ]);
  return Object.fromEntries(entries) as JsonObject;
}
