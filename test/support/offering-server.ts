// A tool server with resources, templates, prompts, completion, log messages and instructions, on the SDK's own server: over HTTP,
// in the process of the test.
import { completable, McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { serveSdkServer } from './serve-sdk-server.js';

export interface OfferingServer {
  url: string;
  /** What was asked for: the method and the URI or name. */
  asked: string[];
  /** Changes a list, and tells clients that listen. */
  changes: {
    resource(name: string): void;
    prompt(name: string): void;
    /** Another description of the prompt `review`. */
    review(description: string): void;
    instructions(text: string): void;
    updated(uri: string): void;
  };
  close(): Promise<void>;
}

export interface Offered {
  name?: string;
  instructions?: string;
  /** How long the text of the resource `doc://large` is. */
  largeLength?: number;
}

export async function startOfferingServer(given: Offered = {}): Promise<OfferingServer> {
  const { name = 'library', largeLength = 1_000 } = given;
  const asked: string[] = [];
  const more = {
    resources: [] as string[],
    prompts: [] as string[],
    review: 'Reviews code',
    instructions: given.instructions,
  };

  function newServer(): McpServer {
    const server = new McpServer(
      { name, version: '1' },
      {
        capabilities: { logging: {}, resources: { subscribe: true } },
        ...(more.instructions === undefined ? {} : { instructions: more.instructions }),
      },
    );
    const listed = ['doc://readme', 'doc://secret/plan', 'doc://large', 'doc://pixel'];
    const resource = (title: string, uri: string, text: string) =>
      server.registerResource(title, uri, { mimeType: 'text/plain', description: `About ${title}` }, async () => {
        asked.push(`resources/read ${uri}`);
        return { contents: [{ uri, mimeType: 'text/plain', text, _meta: { from: name } }] };
      });
    resource('readme', 'doc://readme', `Read me, says ${name}`);
    resource('secret', 'doc://secret/plan', 'A secret plan');
    resource('large', 'doc://large', 'x'.repeat(largeLength));
    for (const each of more.resources) resource(each, `doc://${each}`, each);
    server.registerResource('pixel', 'doc://pixel', { mimeType: 'image/png' }, async () => ({
      contents: [{ uri: 'doc://pixel', mimeType: 'image/png', blob: 'AAEC' }],
    }));
    const complete = { id: (value: string) => ['one', 'other', 'two'].filter((each) => each.startsWith(value)) };
    server.registerResource(
      'page',
      new ResourceTemplate(`${name}://pages/{id}`, { list: undefined, complete }),
      {},
      async (uri, { id }) => {
        asked.push(`resources/read ${uri.href}`);
        return { contents: [{ uri: uri.href, text: `Page ${String(id)}` }] };
      },
    );
    server.registerPrompt(
      'review',
      {
        description: more.review,
        argsSchema: z.object({
          language: completable(z.string(), (value) =>
            ['python', 'perl', 'ruby'].filter((each) => each.startsWith(value)),
          ),
        }),
      },
      async ({ language }) => {
        asked.push(`prompts/get ${language}`);
        return {
          description: 'A review',
          messages: [{ role: 'user', content: { type: 'text', text: `Review this ${language}, ${name}` } }],
        };
      },
    );
    for (const each of more.prompts) {
      server.registerPrompt(each, {}, async () => ({
        messages: [{ role: 'user', content: { type: 'text', text: each } }],
      }));
    }
    server.registerTool('link', { inputSchema: z.object({}) }, async () => ({
      content: [{ type: 'resource_link', uri: 'unlisted:thing', name: 'thing' }],
    }));
    server.registerTool('talk', { inputSchema: z.object({}) }, async (_args, { mcpReq }) => {
      await mcpReq.log('debug', 'details', 'chatter');
      await mcpReq.log('warning', { text: 'careful' }, 'chatter');
      return { content: [{ type: 'text', text: 'said' }] };
    });
    // Can be read, but no list has it.
    resource('thing', 'unlisted:thing', 'A thing');
    server.server.setRequestHandler('resources/list', () => ({
      resources: [...listed, ...more.resources.map((each) => `doc://${each}`)].map((uri) => ({
        uri,
        name: uri.slice('doc://'.length),
        description: `About ${uri}`,
      })),
    }));
    return server;
  }

  const { url, handler, close } = await serveSdkServer(newServer);
  return {
    url,
    asked,
    changes: {
      resource: (each) => {
        more.resources.push(each);
        handler.notify.resourcesChanged();
      },
      prompt: (each) => {
        more.prompts.push(each);
        handler.notify.promptsChanged();
      },
      review: (description) => {
        more.review = description;
        handler.notify.promptsChanged();
      },
      instructions: (text) => {
        more.instructions = text;
      },
      updated: (uri) => handler.notify.resourceUpdated(uri),
    },
    close,
  };
}
