// The resources of a decorated server: fixed ones and templates, listed, found by URI and read.
import {
  type CompleteResult,
  type InputRequiredResult,
  isInputRequiredResult,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type ResourceTemplateType,
  UriTemplate,
} from '@modelcontextprotocol/server';
import type { McpResourceOptions, ResourceReturn } from '../decorators.js';
import type { ToolContext } from '../tool-context.js';
import { type Completing, completeValue } from './completion.js';

export interface ResourceOffer {
  options: McpResourceOptions;
  /** Default name, and where the resource was declared, for the error about a second one: `Notes.readme`. */
  method: string;
  place: string;
  /** `this` of `list` and of completers. */
  instance?: object;
  read: (variables: Record<string, string>, context: ToolContext) => ResourceReturn | Promise<ResourceReturn>;
}

interface ServedResource extends ResourceOffer {
  template: UriTemplate | undefined;
}

const maxUriLength = 4_096;
/** The first resources of the list. */
const maxListed = 10_000;

export class ServedResources {
  private readonly byUri = new Map<string, ServedResource>();

  /** `server`: its name, for errors. */
  constructor(private readonly server: string) {}

  get size(): number {
    return this.byUri.size;
  }

  /** @throws Error naming both places when the URI is taken, and for an invalid template. */
  add(offer: ResourceOffer): void {
    const { uri } = offer.options;
    const other = this.byUri.get(uri);
    if (other !== undefined) {
      const places = `${other.place} and ${offer.place}`;
      throw new Error(`Two resources of MCP server '${this.server}' have the URI '${uri}': ${places}`);
    }
    this.byUri.set(uri, { ...offer, template: UriTemplate.isTemplate(uri) ? new UriTemplate(uri) : undefined });
  }

  remove(uri: string): boolean {
    return this.byUri.delete(uri);
  }

  async list(context: ToolContext): Promise<Resource[]> {
    const listed: Resource[] = [];
    for (const { template, method, options, instance } of this.byUri.values()) {
      const { uri, name = method, size } = options;
      const shared = { name, ...described(options) };
      if (template === undefined) listed.push({ ...shared, uri, ...(size === undefined ? {} : { size }) });
      const found = (await options.list?.call(instance as never, context)) ?? [];
      for (const each of found.slice(0, maxListed)) listed.push({ ...shared, ...each });
    }
    return listed.slice(0, maxListed);
  }

  templates(): ResourceTemplateType[] {
    return [...this.byUri.values()].flatMap(({ template, method, options }) =>
      template === undefined ? [] : [{ name: options.name ?? method, uriTemplate: options.uri, ...described(options) }],
    );
  }

  has(uri: string): boolean {
    return this.find(uri) !== undefined;
  }

  /** @throws ResourceNotFoundError, and the method's errors */
  async read(uri: string, context: ToolContext): Promise<ReadResourceResult | InputRequiredResult> {
    const found = this.find(uri);
    const returned = await found?.resource.read(found.variables, context);
    if (found === undefined || returned === undefined) throw new ResourceNotFoundError(uri.slice(0, maxUriLength));
    return toResult(uri, found.resource.options, returned);
  }

  /** Undefined: there is no such template. */
  async complete(
    uri: string,
    variable: string,
    asked: Completing,
    context: ToolContext,
  ): Promise<CompleteResult | undefined> {
    const resource = this.byUri.get(uri);
    if (resource?.template?.variableNames.includes(variable) !== true) return undefined;
    const { options, instance } = resource;
    return completeValue(options.complete?.[variable], instance, asked, context);
  }

  /** A fixed resource before templates, and these in their order. */
  private find(uri: string): { resource: ServedResource; variables: Record<string, string> } | undefined {
    const fixed = this.byUri.get(uri);
    if (fixed !== undefined && fixed.template === undefined) return { resource: fixed, variables: {} };
    if (uri.length > maxUriLength) return undefined;
    for (const resource of this.byUri.values()) {
      const variables = decoded(resource.template?.match(uri));
      if (variables !== undefined) return { resource, variables };
    }
    return undefined;
  }
}

function described({ title, description, mimeType, annotations }: McpResourceOptions) {
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(annotations === undefined ? {} : { annotations }),
  };
}

function decoded(matched: Record<string, string | string[]> | null | undefined): Record<string, string> | undefined {
  if (matched == null) return undefined;
  try {
    return Object.fromEntries(
      Object.entries(matched).map(([name, value]) => [name, decodeURIComponent([value].flat().join(','))]),
    );
  } catch {
    // A broken escape names nothing.
    return undefined;
  }
}

function toResult(
  uri: string,
  { mimeType }: McpResourceOptions,
  returned: NonNullable<ResourceReturn>,
): ReadResourceResult | InputRequiredResult {
  if (typeof returned === 'string') return { contents: [{ uri, mimeType: mimeType ?? 'text/plain', text: returned }] };
  if (returned instanceof Uint8Array) {
    const blob = Buffer.from(returned.buffer, returned.byteOffset, returned.byteLength).toString('base64');
    return { contents: [{ uri, mimeType: mimeType ?? 'application/octet-stream', blob }] };
  }
  if (isInputRequiredResult(returned)) return returned;
  if ('contents' in returned && Array.isArray(returned.contents)) return returned;
  return { contents: [{ uri, mimeType: mimeType ?? 'application/json', text: JSON.stringify(returned) }] };
}
