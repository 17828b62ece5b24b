// The searches for tools in a conversation, for families whose API has a form of its own for them. There a tool that was found stands
// where it was found, so that the list of tools stays as it was, and with it what the provider has cached.
import type { ProviderConfig } from '#libs/config/schema.js';
import type { AppError } from '#libs/schemas/errors.js';
import { type ChatMessage, messageText } from '#libs/schemas/message.js';
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import type { ModelRequest } from '../model-provider.js';

export interface ToolSearches {
  /** The function that finds tools. */
  name: string;
  /** The offered tools that each result of it names. */
  found: ReadonlyMap<ChatMessage, readonly ToolDefinition[]>;
  /** The names of all these. No other tool is deferred: a model would not know it. */
  deferred: ReadonlySet<string>;
}

/** Models that have refused the native form. At the limit the list is cleared and learnt again. */
const mostRemembered = 1_000;

/** Decides which requests to one provider use the native form. */
export class NativeToolSearch {
  private readonly refusing = new Set<string>();
  private readonly isOwn: boolean;

  /** Other servers of the same API may ignore what they do not know of it: only the vendor's own is asked without being told to. */
  constructor(
    private readonly config: Pick<ProviderConfig, 'tool_search' | 'base_url'>,
    ownUrl: string,
    /** Whether a model of this name has it. */
    private readonly isKnown: (model: string) => boolean,
  ) {
    this.isOwn = config.base_url === undefined || new URL(config.base_url).host === new URL(ownUrl).host;
  }

  /** Undefined: what was found is listed, as any tool is. */
  of(request: ModelRequest): ToolSearches | undefined {
    const { search, model, providerTools } = request;
    if (search === undefined || this.refusing.has(model)) return undefined;
    const { tool_search: form = this.isOwn && this.isKnown(model) ? 'native' : 'function' } = this.config;
    if (form === 'function') return undefined;
    // A request has one search; the caller's own goes first.
    return providerTools?.some(({ tool }) => tool.type === 'tool_search') === true ? undefined : searchesIn(request);
  }

  /** Whether to ask again without the native form. A refusal that speaks of it is remembered until the gateway restarts. */
  isRefused(model: string, { upstreamStatus: status, code, message }: AppError): boolean {
    if ((status !== 400 && status !== 422) || code === 'context_length_exceeded') return false;
    if (/tool.?(?:search|reference)|defer.?loading|namespace/i.test(message)) {
      if (this.refusing.size >= mostRemembered) this.refusing.clear();
      this.refusing.add(model);
    }
    return true;
  }
}

function searchesIn({ search, tools, messages, toolChoice }: ModelRequest): ToolSearches | undefined {
  // A tool that must be called has to be in the list.
  if (search === undefined || typeof toolChoice === 'object') return undefined;
  const offered = new Map(tools.map((tool) => [tool.name, tool]));
  if (!offered.delete(search.name)) return undefined;
  const found = new Map<ChatMessage, readonly ToolDefinition[]>();
  /** Whether the last call of an id is a search: some callers reuse ids. */
  const isSearch = new Map<string, boolean>();
  for (const message of messages) {
    if (message.role === 'assistant') {
      for (const { id, function: called } of message.tool_calls ?? []) isSearch.set(id, called.name === search.name);
    } else if (message.role === 'tool' && isSearch.get(message.tool_call_id) === true) {
      const names = new Set(search.namesIn(messageText(message.content)));
      found.set(
        message,
        [...names].flatMap((name) => offered.get(name) ?? []),
      );
    }
  }
  const deferred = new Set([...found.values()].flat().map(({ name }) => name));
  return { name: search.name, found, deferred };
}
