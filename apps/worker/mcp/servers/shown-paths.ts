// Maps the directories of a tool server to names such as `/mcp_workspaces/<session>` for models and callers, and back, so that
// no host path leaves the worker. In-process servers need no mapping.
import { AppError } from '#libs/schemas/errors.js';
import { replaceMembers } from '#libs/schemas/replace-members.js';
import type { ToolConnection } from './connection.js';
import type { ToolCallOptions } from '../wire/call-scope.js';
import { SessionLost } from './connection-errors.js';
import type { CallActivity } from '../../workspace/quota-watch.js';

export interface ShownDirectory {
  host: string;
  shown: string;
}

/** The end of a directory's name: a following character of these would make another name. */
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

export function translated(inner: ToolConnection, paths: ShownPaths, activity: CallActivity): ToolConnection {
  const asking = <Asked, Answer>(ask: ((asked: Asked, signal: AbortSignal) => Promise<Answer>) | undefined) =>
    ask && (async (asked: Asked, signal: AbortSignal) => paths.toHost(await ask(paths.toShown(asked), signal)));
  return replaceMembers(inner, {
    listTools: async (signal) => paths.toShown(await inner.listTools(signal)),
    onResourceUpdated: (listener) => inner.onResourceUpdated((uri) => listener(paths.toShown(uri))),
    listOffers: async (signal) => paths.toShown(await inner.listOffers(signal)),
    callTool: (request, call) =>
      during(call, (options) => inner.callTool({ ...request, arguments: paths.toHost(request.arguments) }, options)),
    ask: (request, call) =>
      during(call, (options) => inner.ask({ ...request, params: paths.toHost(request.params) }, options)),
  });

  async function during<T>(call: ToolCallOptions, run: (options: ToolCallOptions) => Promise<T>): Promise<T> {
    const options: ToolCallOptions = {
      signal: call.signal,
      maxTimeoutMs: call.maxTimeoutMs,
      // A method of the call, which needs it.
      onProgress: (progress) => call.onProgress(paths.toShown(progress)),
      onQuestion: asking(call.onQuestion),
      onSampling: asking(call.onSampling),
      logLevel: call.logLevel,
      onLog: (log) => call.onLog?.(paths.toShown(log)),
      questionsMs: call.questionsMs ?? 0,
    };
    try {
      return paths.toShown(await activity.during(() => run(options)));
    } catch (error) {
      if (!(error instanceof AppError) || error instanceof SessionLost) throw error;
      throw new AppError(error.code, paths.toShown(error.message), { cause: error });
    }
  }
}
