// A workspaces directory for one test, with one session in it; removed with all that is around it.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '#libs/schemas/errors.js';
import type { WorkspaceLimits } from '#libs/workspace/usage-ledger.js';
import type { Workspace } from '#libs/workspace/workspace.js';
import { Workspaces } from '#libs/workspace/workspaces.js';

export interface TestWorkspace {
  /** A directory of the test's own; `workspaces` is in it. */
  base: string;
  root: string;
  workspaces: Workspaces;
  /** Of session `sess_a`, in the directory `dir-a`. */
  workspace: Workspace;
  /** Its place on this host. */
  host: string;
  remove(): void;
}

export const testLimits: WorkspaceLimits = { maxBytes: 1_000_000, maxFiles: 100, maxDepth: 32 };

export async function createTestWorkspace(limits: Partial<WorkspaceLimits> = {}): Promise<TestWorkspace> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-workspace-')));
  const root = join(base, 'workspaces');
  const workspaces = await Workspaces.open(root, { ...testLimits, ...limits });
  const workspace = workspaces.workspace({ id: 'sess_a', directory: 'dir-a' });
  await workspace.ensure();
  const remove = () => rmSync(base, { recursive: true, force: true });
  return { base, root, workspaces, workspace, host: join(root, 'dir-a'), remove };
}

export async function readText(workspace: Workspace, path: string): Promise<string> {
  const file = await workspace.openFile(path);
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of file.read({})) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  } finally {
    await file.close();
  }
}

/** The code that it fails with, or `ok`; a failure that is no AppError is thrown on. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return 'ok';
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}
