// The directory of all workspaces, with the setting that determines it, for messages to the operator.
import { join } from 'node:path';
import type { Config } from './schema.js';

export interface WorkspacesDirectory {
  path: string;
  setting: 'WORKSPACES_DIR' | 'DATA_DIR';
}

export function workspacesDirectory({ data_dir, workspaces: { dir } }: Config): WorkspacesDirectory {
  if (dir !== undefined) return { path: dir, setting: 'WORKSPACES_DIR' };
  return { path: join(data_dir, 'workspaces'), setting: 'DATA_DIR' };
}
