// Keeps a command server to the quota of its workspace, for as long as it runs: it writes its files itself.
import type { Logger } from '#libs/logging/logger.js';
import type { AppError } from '#libs/schemas/errors.js';
import type { Workspaces } from '#libs/workspace/workspaces.js';
import type { ToolProcess } from '../../sandbox/tool-process.js';
import { type CallActivity, watchQuota } from '../../workspace/quota-watch.js';

export interface WatchedWorkspace {
  /** Where the directory is, and its name there. */
  workspaces: Pick<Workspaces, 'measure' | 'limits' | 'space'>;
  directory: string;
  activity: CallActivity;
  /** It was ended. */
  onEnded: () => void;
  logger: Logger;
}

/** Ends with the process. @param fail ends the server at once, and gives its calls the error */
export function watchWorkspace(watched: WatchedWorkspace, process: ToolProcess, fail: (error: AppError) => void): void {
  const { workspaces, directory, activity, logger } = watched;
  const over = new AbortController();
  void process.exited.catch(() => undefined).then(() => over.abort());
  const count = (signal: AbortSignal) => workspaces.measure(directory, signal);
  const tree = {
    stop: () => process.stop(),
    resume: async () => process.resume(),
    end: async (error: AppError) => {
      watched.onEnded();
      fail(error);
    },
  };
  const watch = async () => {
    const before = await count(over.signal);
    const { limits, space } = workspaces;
    await watchQuota({ tree, count, before, limits, space, activity, logger }, over.signal);
  };
  watch().catch((error: unknown) => {
    if (!over.signal.aborted) logger.warn({ error }, 'a workspace could not be watched');
  });
}
