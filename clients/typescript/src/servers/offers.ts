// Resources and prompts of tool servers.
import type {
  CompletedArgument,
  FilledPrompt,
  OfferedPrompt,
  OfferedResource,
  OfferedTemplate,
  ResourceContents,
} from '../answers.js';
import type { CallOptions, Http } from '../http.js';
import type { CursorOptions, Page } from '../resources.js';

export interface OfferFilters {
  server?: string | undefined;
  /** Text in the name, title, description or URI. */
  text?: string | undefined;
}

/** Which server's, and the session whose workspace the server sees. */
export interface OfferPlace {
  server?: string;
  session_id?: string;
}

export class OfferResource {
  constructor(private readonly http: Http) {}

  resources(options?: OfferFilters & CursorOptions): Promise<Page<OfferedResource>> {
    return this.list('/api/resources', options);
  }

  templates(options?: OfferFilters & CursorOptions): Promise<Page<OfferedTemplate>> {
    return this.list('/api/resources/templates', options);
  }

  prompts(options?: OfferFilters & CursorOptions): Promise<Page<OfferedPrompt>> {
    return this.list('/api/prompts', options);
  }

  /** A resource that is listed, or whose URI matches a template. */
  async read(resource: OfferPlace & { uri: string }, options?: CallOptions): Promise<ResourceContents['contents']> {
    const path = '/api/resources/read';
    return (await this.http.json<ResourceContents>({ method: 'POST', path, json: resource }, options)).contents;
  }

  prompt(
    prompt: OfferPlace & { name: string; arguments?: Record<string, string> },
    options?: CallOptions,
  ): Promise<FilledPrompt> {
    return this.http.json({ method: 'POST', path: '/api/prompts/get', json: prompt }, options);
  }

  /** Values that the server proposes for an argument. `arguments`: those that are already chosen. */
  complete(
    asked: OfferPlace & {
      ref: { type: 'prompt'; name: string } | { type: 'template'; uri: string };
      argument: { name: string; value: string };
      arguments?: Record<string, string>;
    },
    options?: CallOptions,
  ): Promise<CompletedArgument> {
    return this.http.json({ method: 'POST', path: '/api/completions/arguments', json: asked }, options);
  }

  private list<Row>(
    path: string,
    { server, text, limit, cursor, ...options }: OfferFilters & CursorOptions = {},
  ): Promise<Page<Row>> {
    return this.http.json({ method: 'GET', path, query: { server, text, limit, cursor } }, options);
  }
}
