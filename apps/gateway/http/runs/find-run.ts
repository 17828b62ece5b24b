// Finds the stored run of a request. Administrators have everybody's; to others a run of somebody else does not exist.
import type { FastifyRequest } from 'fastify';
import type { RunListing } from '#libs/runs/listing/run-listing.js';
import type { RunStore, StoredRun } from '#libs/runs/run-store.js';
import { AppError } from '#libs/schemas/errors.js';
import type { ActiveRuns } from '../../turn/runs/active-runs.js';
import { isAdministrator } from '../admin/administrator.guard.js';
import { requestContext } from '../request-context.js';

export interface FindRunPorts {
  runs: Pick<RunStore, 'get'>;
  runListing: Pick<RunListing, 'row'>;
  activeRuns: Pick<ActiveRuns, 'written'>;
}

/** @throws AppError run_not_found */
export async function findRun(request: FastifyRequest, id: string, ports: FindRunPorts): Promise<StoredRun> {
  await ports.activeRuns.written(id);
  const { principal } = requestContext(request);
  const owner = isAdministrator(request) ? (await ports.runListing.row(id))?.principal : undefined;
  const run = await ports.runs.get(owner ?? principal, id);
  if (run === undefined) throw runNotFound(id);
  return run;
}

export const runNotFound = (id: string) => new AppError('run_not_found', `Run '${id.slice(0, 64)}' not found`);
