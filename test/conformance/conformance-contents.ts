// The resources and prompts that the official conformance suites ask for by name, as a server of ours would have them.
import { inputRequired, inputResponse } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { McpPrompt, McpResource, McpServer } from '#libs/mcp-server/decorators.js';
import type { ToolContext } from '#libs/mcp-server/tool-context.js';
import type { ToolServer } from '#libs/mcp-server/tool-server.js';
import { image, png } from './conformance-tools.js';

const text = (said: string) => ({ role: 'user' as const, content: { type: 'text' as const, text: said } });

@McpServer({ name: 'conformance' })
export class ConformanceContents {
  @McpResource({ uri: 'test://static-text', description: 'A text.', mimeType: 'text/plain' })
  staticText(): string {
    return 'This is the content of the static text resource.';
  }

  @McpResource({ uri: 'test://static-binary', description: 'A picture.', mimeType: 'image/png' })
  staticBinary(): Uint8Array {
    return Buffer.from(png, 'base64');
  }

  @McpResource({ uri: 'test://watched-resource', description: 'A text that clients subscribe to.' })
  watched(): string {
    return 'Watched';
  }

  @McpResource({ uri: 'test://template/{id}/data', description: 'Data of an id.', mimeType: 'application/json' })
  data({ id }: Record<string, string>): object {
    return { id, templateTest: true, data: `Data for ID: ${id}` };
  }

  @McpPrompt({ description: 'Says one sentence.', name: 'test_simple_prompt' })
  simple(): string {
    return 'This is a simple prompt for testing.';
  }

  @McpPrompt({
    description: 'Repeats its arguments.',
    name: 'test_prompt_with_arguments',
    arguments: z.object({ arg1: z.string().describe('First test argument'), arg2: z.string().describe('Second one') }),
    complete: { arg1: ['testValue1', 'testValue2'] },
  })
  withArguments({ arg1, arg2 }: { arg1: string; arg2: string }): string {
    return `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`;
  }

  @McpPrompt({
    description: 'Hands over a resource.',
    name: 'test_prompt_with_embedded_resource',
    arguments: z.object({ resourceUri: z.string() }),
  })
  withResource({ resourceUri: uri }: { resourceUri: string }) {
    const resource = { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' };
    return [
      { role: 'user' as const, content: { type: 'resource' as const, resource } },
      text('Please process the embedded resource above.'),
    ];
  }

  @McpPrompt({ description: 'Shows a picture.', name: 'test_prompt_with_image' })
  withImage() {
    return [{ role: 'user' as const, content: image }, text('Please analyze the image above.')];
  }

  @McpPrompt({ description: 'Asks for a context.', name: 'test_input_required_result_prompt' })
  asks(_values: object, { inputResponses }: ToolContext) {
    const answer = inputResponse(inputResponses, 'user_context');
    if (answer.kind === 'elicit') return `In the context of ${String(answer.content?.['context'])}`;
    const requestedSchema = {
      type: 'object' as const,
      properties: { context: { type: 'string' as const } },
      required: ['context'],
    };
    const message = 'What context should the prompt use?';
    return inputRequired({ inputRequests: { user_context: inputRequired.elicit({ message, requestedSchema }) } });
  }
}

/** A tool that adds a prompt, or takes it away again. */
export function addPromptTrigger(server: ToolServer): void {
  const place = 'addPromptTrigger';
  server.register({
    name: 'test_trigger_prompt_change',
    place,
    options: { description: 'Changes the list of prompts.', input: z.object({}) },
    handler: () => {
      const name = 'test_changing_prompt';
      const options = { description: 'Comes and goes.' };
      if (!server.removePrompt(name)) server.registerPrompt({ name, place, options, fill: () => 'here' });
      return 'changed';
    },
  });
}
