// Keeps results that are too large for a model in their session's own workspace, under `.results/`.
import type { Workspaces } from '#libs/workspace/workspaces.js';
import type { ResultFiles, SessionPlace } from './run-tool.js';

const DIRECTORY = '.results';

export class WorkspaceResultFiles implements ResultFiles {
  constructor(private readonly workspaces: Workspaces) {}

  /** @throws AppError workspace_quota_exceeded */
  async keep(session: SessionPlace, name: string, text: string): Promise<string> {
    const workspace = this.workspaces.workspace(session);
    const path = `${DIRECTORY}/${name}`;
    await workspace.write(path, Buffer.from(text), { createDirectories: true });
    return `${workspace.shownPath}/${path}`;
  }
}
