// The policy in force: decides about calls, and hides from each caller the tools that it may never call. Replaced whole when the
// configuration has been read again; earlier decisions stay.
import { allowsTool } from '#libs/access/access.js';
import type { Access } from '#libs/schemas/call-context.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import { keptFor } from '#libs/kept/kept-for.js';
import { callerKeyOf, CompiledPolicy } from '#libs/policy/compile-policy.js';
import type { Effect, JudgedCaller, PolicySource } from '#libs/policy/decision.js';
import { judgedItem, type OfferedItem } from '#libs/policy/judged-item.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ChangedLists, SearchOptions, ToolCatalog, WatchedToolCatalog } from '../tools/tool-catalog.js';
import type { Decide } from './decide.js';

/** How many callers' views of the catalog are cached; above this number all are made anew. */
const maxViews = 1_000;

/** Who asks, with what the caller's key allows. */
export type KeyedCaller = JudgedCaller & { access?: Access; parentCall?: string };

/** The tools of a list of which some call needs an approval; `version` changes with them. */
export interface AskedTools {
  tools: ReadonlySet<CatalogTool>;
  version: string;
}

export type MayUse = (item: OfferedItem, caller: KeyedCaller) => boolean;

/** The catalog as a caller sees it. */
export type CatalogOf = (caller: KeyedCaller) => ToolCatalog;

export class ToolPolicy {
  private policy: CompiledPolicy;
  private readonly views = new Map<string, { access: Access | undefined; view: CatalogView }>();
  private readonly listeners = new Set<(changed: ChangedLists) => void>();

  constructor(
    private source: PolicySource,
    private readonly catalog: WatchedToolCatalog,
    private readonly onDecision: (effect: Effect) => void,
  ) {
    this.policy = new CompiledPolicy(source);
  }

  /** What decides at present; the tools are those of everybody. */
  get inForce(): { policy: CompiledPolicy; source: PolicySource; tools: readonly CatalogTool[] } {
    return { policy: this.policy, source: this.source, tools: this.catalog.list() };
  }

  /** @throws Error for rules that cannot be used: the earlier rules stay in force */
  replace(source: PolicySource): void {
    this.policy = new CompiledPolicy(source);
    this.source = source;
    this.views.clear();
    for (const listener of this.listeners) listener({ tools: true, resources: true, prompts: true });
  }

  /** The policy that these default and rules would make, which is not put into force. */
  readonly drafted = (policy: PolicySource['policy']): CompiledPolicy => new CompiledPolicy({ ...this.source, policy });

  readonly decide: Decide = (tool, args, context) => {
    const decision = this.policy.decide(tool, args, context);
    this.onDecision(decision.effect);
    return decision;
  };

  /** Whether some call of the tool by this caller needs an approval. */
  mayNeedApproval(tool: CatalogTool, caller: JudgedCaller): boolean {
    return this.policy.mayNeedApproval(tool, caller);
  }

  /** Those of the caller's tools, or of a toolset, of which some call needs an approval. */
  mayNeedApprovals(caller: KeyedCaller, label?: string): AskedTools {
    return this.viewOf(caller)?.asked(label) ?? nothingAsked;
  }

  /** What the policy says about a call without arguments, and whether arguments may change that. Decides nothing. */
  verdict(tool: CatalogTool, caller: JudgedCaller): { effect: Effect; rule: string; depends: boolean } {
    const { effect, rule } = this.policy.decide(tool, {}, caller);
    return { effect, rule, depends: this.policy.dependsOnArguments(tool, caller) };
  }

  /** A tool that the policy hides from this caller, looked up for a call of that tool all the same. */
  readonly deniedTool = (name: string, caller: JudgedCaller): CatalogTool | undefined => {
    const tool = this.catalog.find(name);
    return tool !== undefined && this.policy.isDenied(tool, caller) ? tool : undefined;
  };

  /** The catalog without the tools that the caller's key, or the policy, denies for any arguments. */
  readonly catalogOf: CatalogOf = (caller) => this.viewOf(caller) ?? noTools;

  private viewOf(caller: KeyedCaller): CatalogView | undefined {
    // A tool that could call tools might call itself in a circle.
    if (caller.parentCall !== undefined) return undefined;
    const key = callerKeyOf(caller);
    const known = this.views.get(key);
    // A changed key comes with another `access` object.
    if (known !== undefined && known.access === caller.access) return known.view;
    if (this.views.size >= maxViews) this.views.clear();
    const { principal, keyId, roles } = caller;
    const kept = { principal, ...(keyId === undefined ? {} : { keyId }), ...(roles === undefined ? {} : { roles }) };
    const { access } = caller;
    const isShown = (tool: CatalogTool) => allowsTool(access, tool) && !this.policy.isDenied(tool, kept);
    const { policy } = this;
    const view = new CatalogView(this.catalog, isShown, (tool) => policy.mayNeedApproval(tool, kept));
    this.views.set(key, { access, view });
    return view;
  }

  /** Whether the caller may use a resource or prompt: its key allows the whole server, and the policy allows the item. */
  readonly mayUse: MayUse = (item, { access, parentCall, ...caller }) =>
    parentCall === undefined &&
    allowsTool(access, { server: item.server, tool: '' }) &&
    !this.policy.isDenied(judgedItem(item), caller);

  /** Called when the catalog or the policy, and so the listed tools, may have changed. Returns a function that stops listening. */
  readonly onChange = (listener: (changed: ChangedLists) => void): (() => void) => {
    const stop = this.catalog.onChange(listener);
    this.listeners.add(listener);
    return () => {
      stop();
      this.listeners.delete(listener);
    };
  };
}

const noTools: ToolCatalog = {
  find: () => undefined,
  list: () => [],
  hasServer: () => false,
  isToolset: () => false,
  search: () => Promise.resolve([]),
  version: '',
};

const nothingAsked: AskedTools = { tools: new Set(), version: '' };

class CatalogView implements ToolCatalog {
  /** The result of the last filtering of all tools; `from` is another object whenever the catalog has changed. */
  private listed?: {
    from: readonly CatalogTool[];
    tools: readonly CatalogTool[];
    version: string;
    /** By server or toolset; `of` is what was filtered. */
    parts: Map<string, { of: readonly CatalogTool[]; shown: readonly CatalogTool[] }>;
  };

  private readonly askedOf = keptFor((list: readonly CatalogTool[]): AskedTools => {
    const tools = list.filter(this.isAsked);
    return { tools: new Set(tools), version: canonicalHash(tools.map(({ name }) => name)) };
  });

  constructor(
    private readonly catalog: ToolCatalog,
    private readonly isShown: (tool: CatalogTool) => boolean,
    private readonly isAsked: (tool: CatalogTool) => boolean,
  ) {}

  find(name: string, toolset?: string): CatalogTool | undefined {
    const tool = this.catalog.find(name, toolset);
    return tool !== undefined && this.isShown(tool) ? tool : undefined;
  }

  list(label?: string): readonly CatalogTool[] {
    const { from, tools, parts } = this.all();
    if (from === tools) return this.catalog.list(label);
    if (label === undefined) return tools;
    const of = this.catalog.list(label);
    let part = parts.get(label);
    if (part?.of === of) return part.shown;
    // Callers may ask for any name: only what is there is kept.
    part = { of, shown: of.filter(this.isShown) };
    if (of.length > 0) parts.set(label, part);
    return part.shown;
  }

  asked(label?: string): AskedTools {
    return this.askedOf(this.list(label));
  }

  /** All callers share the index of the whole catalog. */
  search(query: string, options: SearchOptions, label?: string): Promise<readonly CatalogTool[]> {
    const isShown = (tool: CatalogTool) => options.isShown(tool) && this.isShown(tool);
    return this.catalog.search(query, { ...options, isShown }, label);
  }

  hasServer(label: string): boolean {
    return this.catalog.hasServer(label);
  }

  isToolset(label: string): boolean {
    return this.catalog.isToolset(label);
  }

  get version(): string {
    return this.all().version;
  }

  private all(): NonNullable<typeof this.listed> {
    const from = this.catalog.list();
    if (this.listed?.from === from) return this.listed;
    const shown = from.filter(this.isShown);
    const { version } = this.catalog;
    this.listed =
      shown.length === from.length
        ? { from, tools: from, version, parts: new Map() }
        : { from, tools: shown, version: canonicalHash([version, shown.map(({ name }) => name)]), parts: new Map() };
    return this.listed;
  }
}
