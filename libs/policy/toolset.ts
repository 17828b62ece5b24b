// Named sets of tools: globs of `server/tool` in order, of which the last that matches a tool decides. Says which tools a set has and
// how it shows them; knows no catalog and no caller.
import { keptFor } from '#libs/kept/kept-for.js';
import { compileToolGlob, type ToolGlob } from './tool-glob.js';

/** How a set shows one of its tools. */
export interface ShownAs {
  name?: string | undefined;
  description?: string | undefined;
}

/** A glob, `!` and a glob, or one tool with a name or description of the set's own. */
export type ToolsetEntry = string | ({ tool: string } & ShownAs);
export type ToolsetSettings = Readonly<Record<string, readonly ToolsetEntry[]>>;

export type NamedTool = Readonly<{ server: string; tool: string }>;

interface Rule {
  glob: ToolGlob;
  removes: boolean;
  shownAs: ShownAs | undefined;
}

export class Toolset {
  private readonly rules: readonly Rule[];

  /** @throws Error for an entry that is no glob of tools */
  constructor(entries: readonly ToolsetEntry[]) {
    this.rules = entries.map(ruleOf);
  }

  /** The globs that add tools. */
  get added(): string[] {
    return this.rules.filter(({ removes }) => !removes).map(({ glob }) => glob.pattern);
  }

  has({ server, tool }: NamedTool): boolean {
    const last = this.rules.findLast(({ glob }) => glob.matches(server, tool));
    return last !== undefined && !last.removes;
  }

  /** The set's own name and description of a tool, whichever entry adds it. */
  shownAs({ server, tool }: NamedTool): ShownAs | undefined {
    return this.rules.findLast(({ glob, shownAs }) => shownAs !== undefined && glob.matches(server, tool))?.shownAs;
  }

  /** The entries, as they are written, that match none of the tools. */
  unmatched(tools: readonly NamedTool[]): string[] {
    return this.rules
      .filter(({ glob }) => !tools.some(({ server, tool }) => glob.matches(server, tool)))
      .map(({ glob, removes }) => (removes ? `!${glob.pattern}` : glob.pattern));
  }
}

/** The sets in force. Replaced whole when the configuration has been read again. */
export class Toolsets {
  private byName: ReadonlyMap<string, Toolset> = new Map();
  private source: ToolsetSettings = {};
  private readonly namesIn = keptFor((tool: NamedTool, sets: ReadonlyMap<string, Toolset>): readonly string[] =>
    [...sets].filter(([, set]) => set.has(tool)).map(([name]) => name),
  );

  constructor(settings: ToolsetSettings = {}) {
    this.replace(settings);
  }

  /** @throws Error for an entry that is no glob: the earlier sets stay */
  replace(settings: ToolsetSettings): void {
    this.byName = new Map(Object.entries(settings).map(([name, entries]) => [name, new Toolset(entries)]));
    this.source = settings;
  }

  /** Another object after each change. */
  get settings(): ToolsetSettings {
    return this.source;
  }

  get names(): string[] {
    return [...this.byName.keys()];
  }

  get(name: string): Toolset | undefined {
    return this.byName.get(name);
  }

  /** The names of the sets that have the tool. */
  namesOf(tool: NamedTool): readonly string[] {
    return this.namesIn(tool, this.byName);
  }

  get all(): Iterable<[name: string, Toolset]> {
    return this.byName;
  }
}

function ruleOf(entry: ToolsetEntry): Rule {
  if (typeof entry === 'string') {
    const removes = entry.startsWith('!');
    return { glob: compileToolGlob(removes ? entry.slice(1) : entry), removes, shownAs: undefined };
  }
  const { tool, name, description } = entry;
  return { glob: compileToolGlob(tool), removes: false, shownAs: { name, description } };
}
