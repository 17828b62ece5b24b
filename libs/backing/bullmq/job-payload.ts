// The format of a job in BullMQ's `data`. As text within JSON: PostgreSQL's jsonb reorders members and rejects NUL and
// lone surrogates, which arguments may contain.
import { isJsonObject, parseJson } from '#libs/schemas/json.js';
import { toolJobSchema, toolJobVersions, type ToolJob } from '#libs/schemas/tool-job.js';

export interface JobPayload {
  job: string;
  /** Further calls in the same job. A worker that does not support them leaves them to the journal's sweep. */
  more?: string[];
  /** The call has had another job before. */
  again?: true;
}

export const toJobPayload = (job: ToolJob): JobPayload => ({ job: JSON.stringify(job) });

export type ReadPayload =
  { kind: 'jobs'; jobs: ToolJob[]; again: boolean } | { kind: 'unknown version' } | { kind: 'invalid' };

export function readPayload(data: unknown): ReadPayload {
  if (!isJsonObject(data)) return { kind: 'invalid' };
  const { job, more = [], again } = data;
  if (!Array.isArray(more)) return { kind: 'invalid' };
  const jobs: ToolJob[] = [];
  for (const text of [job, ...more]) {
    const read = readJob(text);
    if (typeof read === 'string') return { kind: read };
    jobs.push(read);
  }
  return { kind: 'jobs', jobs, again: again === true };
}

/** A job with an unknown version is from another release, not invalid. */
function readJob(text: unknown): ToolJob | 'unknown version' | 'invalid' {
  if (typeof text !== 'string') return 'invalid';
  const value = parseJson(text);
  const job = toolJobSchema.safeParse(value);
  if (job.success) return job.data;
  if (!isJsonObject(value) || !Object.hasOwn(value, 'version')) return 'invalid';
  return toolJobVersions.has(value['version']) ? 'invalid' : 'unknown version';
}
