// How a job travels in BullMQ's `data`. As text within JSON: PostgreSQL's jsonb refuses NUL and lone surrogates, which
// arguments may hold, and reorders members.
import { isJsonObject } from '#libs/schemas/json.js';
import { toolJobSchema, type ToolJob } from '#libs/schemas/tool-job.js';

export interface JobPayload {
  job: string;
}

export const toPayload = (job: ToolJob): JobPayload => ({ job: JSON.stringify(job) });

export type ReadPayload = { kind: 'job'; job: ToolJob } | { kind: 'unknown version' } | { kind: 'invalid' };

/** A version that this deploy does not know is another deploy's job, not a wrong one. */
export function readPayload(data: unknown): ReadPayload {
  const text = isJsonObject(data) ? data['job'] : undefined;
  if (typeof text !== 'string') return { kind: 'invalid' };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: 'invalid' };
  }
  const job = toolJobSchema.safeParse(value);
  if (job.success) return { kind: 'job', job: job.data };
  if (!isJsonObject(value) || !Object.hasOwn(value, 'version')) return { kind: 'invalid' };
  return { kind: value['version'] === toolJobSchema.shape.version.value ? 'invalid' : 'unknown version' };
}
