// What this worker remembers of each tool server for the operator: how often an instance of it ended by itself, and the last lines
// that it wrote to stderr.
import { strikeOutKnown } from '#libs/audit/known-secrets.js';

/** Each heartbeat reports them. */
const most = { lines: 10, chars: 200 };

interface Vitals {
  restarts: number;
  lines: string[];
}

export class ServerVitals {
  private readonly servers = new Map<string, Vitals>();

  /** An instance of the server ended by itself. */
  ended(server: string): void {
    this.vitalsOf(server).restarts += 1;
  }

  /** A line on stderr. */
  wrote(server: string, line: string): void {
    const { lines } = this.vitalsOf(server);
    lines.push(strikeOutKnown(line).slice(0, most.chars));
    if (lines.length > most.lines) lines.shift();
  }

  of(server: string): { restarts: number; stderr?: string[] } {
    const { restarts, lines } = this.servers.get(server) ?? { restarts: 0, lines: [] };
    return lines.length === 0 ? { restarts } : { restarts, stderr: [...lines] };
  }

  /** Forgets servers that are not configured any more. */
  keep(names: ReadonlySet<string>): void {
    for (const name of this.servers.keys()) if (!names.has(name)) this.servers.delete(name);
  }

  private vitalsOf(server: string): Vitals {
    let vitals = this.servers.get(server);
    if (vitals === undefined) this.servers.set(server, (vitals = { restarts: 0, lines: [] }));
    return vitals;
  }
}
