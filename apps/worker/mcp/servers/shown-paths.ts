// Maps the directories of a tool server to names such as `/mcp_workspaces/<session>` for models and callers, and back, so that
// no host path leaves the worker. In-process servers need no mapping.
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { RawToolResult, ToolConnection, ToolRequest } from './connection.js';
import type { CallOptions } from '../wire/call-scope.js';
import { SessionLost } from './connection-errors.js';
import type { CallActivity } from '../../workspace/quota-watch.js';

export interface ShownDirectory {
  host: string;
  shown: string;
}

/** The end of a directory's name: none of these characters, which would make it another name, may follow. */
const end = String.raw`(?![\w.-])`;

export class ShownPaths {
  private readonly replaceShown: (text: string) => string;
  private readonly replaceHost: (text: string) => string;

  /** `hidden` directories are only replaced in results. */
  constructor(directory: ShownDirectory, hidden: readonly ShownDirectory[]) {
    this.replaceShown = replacer([[directory.shown, directory.host]]);
    const back = [directory, ...hidden].flatMap(({ host, shown }): [string, string][] => [
      [host, shown],
      [encodeURI(host), encodeURI(shown)],
    ]);
    this.replaceHost = replacer(back);
  }

  toHost<T>(value: T): T {
    return mapStrings(value, this.replaceShown) as T;
  }

  toShown<T>(value: T): T {
    return mapStrings(value, this.replaceHost) as T;
  }
}

/** The first matching name wins. */
function replacer(pairs: readonly (readonly [string, string])[]): (text: string) => string {
  const names = new Map(pairs);
  const pattern = new RegExp(`(?:${[...names.keys()].map(escape).join('|')})${end}`, 'g');
  return (text) => text.replace(pattern, (found) => names.get(found) ?? found);
}

const escape = (text: string): string => text.replace(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);

/** Also maps member names, which may contain a host path. The depth is already bounded. */
function mapStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [change(key), mapStrings(inner, change)]));
}

/** A connection that maps paths. */
export class TranslatedConnection implements ToolConnection {
  constructor(
    private readonly inner: ToolConnection,
    private readonly paths: ShownPaths,
    private readonly activity: CallActivity,
  ) {}

  get closed(): boolean {
    return this.inner.closed;
  }

  get failure(): AppError | undefined {
    return this.inner.failure;
  }

  get peer(): ToolConnection['peer'] {
    return this.inner.peer;
  }

  onClosed(listener: () => void): void {
    this.inner.onClosed(listener);
  }

  onToolsChanged(listener: () => void): void {
    this.inner.onToolsChanged(listener);
  }

  async listTools(signal: AbortSignal): Promise<unknown[]> {
    return this.paths.toShown(await this.inner.listTools(signal));
  }

  async callTool(request: ToolRequest, options: CallOptions): Promise<RawToolResult> {
    const translated = { ...request, arguments: this.paths.toHost<JsonObject>(request.arguments) };
    try {
      const result = await this.activity.during(() =>
        this.inner.callTool(translated, {
          signal: options.signal,
          maxTimeoutMs: options.maxTimeoutMs,
          onProgress: (progress) => options.onProgress(this.paths.toShown(progress)),
          onQuestion: this.translated(options.onQuestion),
          onSampling: this.translated(options.onSampling),
          questionsMs: options.questionsMs ?? 0,
        }),
      );
      return this.paths.toShown(result);
    } catch (error) {
      if (!(error instanceof AppError) || error instanceof SessionLost) throw error;
      throw new AppError(error.code, this.paths.toShown(error.message), { cause: error });
    }
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  private translated<Asked, Answer>(ask: ((asked: Asked, signal: AbortSignal) => Promise<Answer>) | undefined) {
    return (
      ask &&
      (async (asked: Asked, signal: AbortSignal) => this.paths.toHost(await ask(this.paths.toShown(asked), signal)))
    );
  }
}
