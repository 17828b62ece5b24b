// The checks that gateway and worker share, written against ports. Their messages are for operators.
import type { WorkspacesDirectory } from '#libs/config/workspaces-directory.js';
import type { Logger } from '#libs/logging/logger.js';
import type { ProcessRegistry } from '#libs/runs/processes/process-registry.js';
import type { Workspaces } from '#libs/workspace/workspaces.js';
import type { CheckResult, HealthCheck } from './health.js';

const workerSeenMs = 10_000;

const named = (name: string, check: HealthCheck['check']): HealthCheck => ({ name, check });
/** Not ok if there is a reason. */
const result = (reason?: string, details?: CheckResult['details']): CheckResult => ({
  status: reason === undefined ? 'ok' : 'degraded',
  ...(reason !== undefined && { reason }),
  ...(details !== undefined && { details }),
});

/** Without the store plain chats continue, but tools do not run. */
export const pingCheck = (name: 'store' | 'queue', ping: (signal: AbortSignal) => Promise<unknown>): HealthCheck =>
  named(name, async (signal) => ping(signal).then(() => result()));

/** Workers seen within ten seconds, and the lowest isolation level among them (`details.isolation`). */
export function workersCheck(registry: Pick<ProcessRegistry, 'alive'>): HealthCheck {
  return named('workers', async () => {
    const workers = (await registry.alive('worker', workerSeenMs)).filter(({ draining }) => !draining);
    if (workers.length === 0) return result('no worker was seen: tools cannot run');
    return result(undefined, { count: workers.length });
  });
}

/** Isolation level and name as reported by the workers; 0 or `none` runs tool servers without protection. */
export function isolationCheck(levels: () => Promise<readonly (string | number)[]>): HealthCheck {
  return named('isolation', async () => {
    const found = await levels();
    const open = found.some((level) => level === 0 || level === 'none');
    if (open) return result('tool servers run without isolation');
    return found.length === 0
      ? result()
      : result(undefined, { level: [...new Set(found.map(String))].sort().join(', ') });
  });
}

/** Outcomes spooled to disk until the store returns, and whether there is room for more. */
export function spoolCheck(spool: () => { rows: number; hasRoom: boolean }): HealthCheck {
  return named('audit spool', async () => {
    const { rows, hasRoom } = spool();
    if (!hasRoom) return result('the spool is full or cannot be written: no tool runs', { rows });
    return result(rows === 0 ? undefined : 'outcomes wait for the store', { rows });
  });
}

export interface WorkspacesCheckParts {
  workspaces: Pick<Workspaces, 'probe' | 'space'>;
  directory: WorkspacesDirectory;
  logger: Logger;
}

/**
 * Whether session files can be written: the directory is writable, and free space exceeds the reserve. Changes are logged.
 * Only the log shows the directory's path.
 */
export function workspacesCheck({ workspaces, directory, logger }: WorkspacesCheckParts): HealthCheck {
  let known: string | undefined;
  const metadata = { setting: directory.setting, directory: directory.path };
  const look = async (): Promise<CheckResult> => {
    const error = await workspaces.probe().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    const found = error === undefined ? await spaceOf(workspaces) : result(`${directory.setting}: ${problemOf(error)}`);
    const { reason } = found;
    if (reason !== known) {
      if (reason === undefined) logger.info({ metadata }, 'the directory of the workspaces can be written again');
      else if (error === undefined) logger.error({ metadata }, reason);
      else logger.error({ error, metadata }, `the directory of the workspaces cannot be written. ${reason}`);
    }
    known = reason;
    return found;
  };
  // One probe at a time, so that hanging storage blocks at most one thread, however often the check runs.
  let looking: Promise<CheckResult> | undefined;
  return named('workspaces', () => (looking ??= look().finally(() => (looking = undefined))));
}

async function spaceOf({ space }: Pick<Workspaces, 'space'>): Promise<CheckResult> {
  // If the file system does not report free space, a successful probe is enough.
  const freeBytes = await space.bytes().catch(() => undefined);
  if (freeBytes === undefined) return result();
  const reason = 'the disk of workspaces.dir has less free space than workspaces.min_free_bytes: no files are written';
  return result(freeBytes < space.minFreeBytes ? reason : undefined, { freeBytes });
}

function problemOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
  if (['ENOSPC', 'EDQUOT', 'EFBIG'].includes(code)) return `no space is left (${code})`;
  if (code === 'EROFS') return `it is read-only (${code})`;
  if (code === 'EACCES') {
    return `user ${process.getuid?.()} may not write it (${code}); for volumes see docs/deployment.md#volumes`;
  }
  return `it must be a directory that this user can write (${code})`;
}

export interface SharedWorkspacesParts {
  workspaces: Pick<Workspaces, 'mark'>;
  registry: Pick<ProcessRegistry, 'alive'>;
  directory: WorkspacesDirectory;
  logger: Logger;
}

/** Whether the other gateways and workers have the same directory of workspaces (`details.workspaces`). A change is logged. */
export function sharedWorkspacesCheck({ workspaces, registry, directory, logger }: SharedWorkspacesParts): HealthCheck {
  let known: string | undefined;
  return named('shared workspaces', async () => {
    // Without a mark the directory cannot be written, as the check of the workspaces says.
    const mark = await workspaces.mark().catch(() => undefined);
    if (mark === undefined) return result();
    // Without the database the others are unknown, as the check of the store says.
    const seen = await Promise.all(
      (['gateway', 'worker'] as const).map((kind) => registry.alive(kind, workerSeenMs).catch(() => [])),
    );
    const marks = seen.flat().map(({ details }) => details['workspaces']);
    const apart = marks.filter((other) => typeof other === 'string' && other !== mark).length;
    const reason =
      apart === 0
        ? undefined
        : `${directory.setting}: this process has another directory than ${apart} other processes. ` +
          'Gateways and workers need one that they share (docs/deployment.md#volumes)';
    if (reason !== undefined && known === undefined) logger.error({ metadata: { setting: directory.setting } }, reason);
    known = reason;
    return result(reason);
  });
}

/** Providers of models that cannot be used; chats with others are served. `details.model` answers requests that name no model. */
export function modelsCheck(
  known: (signal: AbortSignal) => Promise<{ model: string; problems: readonly string[] }>,
): HealthCheck {
  const shown = 5;
  return named('models', async (signal) => {
    const { model, problems } = await known(signal);
    if (problems.length === 0) return result(undefined, { model });
    const more = problems.length > shown ? ` And ${problems.length - shown} more.` : '';
    const sentences = problems.slice(0, shown).map((problem) => problem.replace(/[^.]$/, '$&.'));
    return result(`${sentences.join(' ')}${more}`, { model });
  });
}

/** Why the configuration that was read last is not in force, if so. */
export const configurationCheck = (problem: () => string | undefined): HealthCheck =>
  named('configuration', async () => result(problem()));

/** Server states by name; the result lists servers that are neither `ready` nor `idle`. */
export function serversCheck(states: () => Promise<Readonly<Record<string, string>>>): HealthCheck {
  const shown = 10;
  return named('servers', async () => {
    const entries = Object.entries(await states());
    // A server that needs a sign-in waits for its users, and nothing is wrong with it.
    const fine = new Set(['ready', 'idle', 'needs_sign_in']);
    const away = entries.filter(([, state]) => !fine.has(state));
    const details = { count: entries.length };
    if (away.length === 0) return result(undefined, details);
    const names = away.slice(0, shown).map(([name, state]) => `${name} (${state})`);
    const more = away.length > shown ? ` and ${away.length - shown} more` : '';
    return result(`not ready: ${names.join(', ')}${more}`, details);
  });
}
