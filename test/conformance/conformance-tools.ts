// The tools that the official conformance suites call by name, as a server of ours would have them.
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { McpServer, McpTool } from '#libs/mcp-server/decorators.js';
import type { ToolContext } from '#libs/mcp-server/tool-context.js';
import type { ToolServer } from '#libs/mcp-server/tool-server.js';

const nothing = z.object({});
/** One pixel, and a sound without samples. */
export const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=';
export const image = { type: 'image' as const, data: png, mimeType: 'image/png' };
const resource = (name: string, text: string) => ({
  type: 'resource' as const,
  resource: { uri: `test://${name}`, mimeType: 'application/json', text },
});

const address = z
  .object({ street: z.string().optional(), city: z.string().optional() })
  .meta({ id: 'address', $anchor: 'addressDef' });
/** What the suites look for in a schema of 2020-12 that zod has no words for. */
const keywords = {
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
};

@McpServer({ name: 'conformance' })
export class ConformanceTools {
  @McpTool({ description: 'Says one sentence.', input: nothing, name: 'test_simple_text' })
  simpleText(): string {
    return 'This is a simple text response for testing.';
  }

  @McpTool({ description: 'Shows a picture.', input: nothing, name: 'test_image_content' })
  imageContent() {
    return { content: [image] };
  }

  @McpTool({ description: 'Plays a sound.', input: nothing, name: 'test_audio_content' })
  audioContent() {
    return { content: [{ type: 'audio' as const, data: wav, mimeType: 'audio/wav' }] };
  }

  @McpTool({ description: 'Hands over a resource.', input: nothing, name: 'test_embedded_resource' })
  embeddedResource() {
    return { content: [resource('embedded-resource', '{}')] };
  }

  @McpTool({ description: 'Text, a picture and a resource.', input: nothing, name: 'test_multiple_content_types' })
  mixedContent() {
    const text = { type: 'text' as const, text: 'Multiple content types test:' };
    return { content: [text, image, resource('mixed-content-resource', '{"test":"data","value":123}')] };
  }

  @McpTool({ description: 'Tells how far it is.', input: nothing, name: 'test_tool_with_progress' })
  withProgress(_input: object, context: ToolContext): string {
    for (const progress of [0, 50, 100]) context.reportProgress(progress, 100);
    return 'done';
  }

  @McpTool({ description: 'Fails.', input: nothing, name: 'test_error_handling' })
  fail(): string {
    throw new Error('This tool intentionally returns an error for testing');
  }

  @McpTool({ description: 'Answers on its stream.', input: nothing, name: 'test_streaming_elicitation' })
  stream(): string {
    return 'streamed';
  }

  @McpTool({ description: 'Says how far it is in its log.', input: nothing, name: 'test_tool_with_logging' })
  withLogging(_input: object, { logger }: ToolContext): string {
    for (const how of ['execution started', 'processing data', 'execution completed']) logger.info({}, `Tool ${how}`);
    return 'done';
  }

  @McpTool({ description: 'Writes into the log.', input: nothing, name: 'test_logging_tool' })
  log(_input: object, { logger }: ToolContext): string {
    logger.info({}, 'a line of the tool');
    return 'logged';
  }

  @McpTool({ description: 'Greets at once.', input: z.object({ name: z.string() }), name: 'greet' })
  greet({ name }: { name: string }): string {
    return `Hello, ${name}!`;
  }

  @McpTool({
    description: 'Takes its time.',
    input: z.object({ seconds: z.number(), label: z.string().optional() }),
    name: 'slow_compute',
    timeoutMs: 120_000,
  })
  async computeSlowly({ seconds, label }: { seconds: number; label?: string | undefined }, { signal }: ToolContext) {
    await pause(seconds * 1_000, undefined, { signal });
    return `computed ${label}`;
  }

  @McpTool({ description: 'Takes its time, and fails.', input: nothing, name: 'failing_job' })
  async failLate(_input: object, { signal }: ToolContext): Promise<string> {
    await pause(1_000, undefined, { signal });
    throw new Error('This job intentionally fails');
  }

  @McpTool({
    description: 'Has a schema of JSON Schema 2020-12.',
    input: z
      .strictObject({
        name: z.string().optional(),
        address: address.optional(),
        contactMethod: z.enum(['phone', 'email']).optional(),
        phone: z.string().optional(),
        email: z.string().optional(),
      })
      .meta(keywords),
    name: 'json_schema_2020_12_tool',
  })
  describeContact(): string {
    return 'described';
  }
}

/** A tool that adds a tool, or takes it away again. */
export function addChangeTrigger(server: ToolServer): void {
  const place = 'addChangeTrigger';
  server.register({
    name: 'test_trigger_tool_change',
    place,
    options: { description: 'Changes the list of tools.', input: nothing },
    handler: () => {
      const name = 'test_changing_tool';
      const options = { description: 'Comes and goes.', input: nothing };
      if (!server.remove(name)) server.register({ name, place, options, handler: () => 'here' });
      return 'changed';
    },
  });
}
