// How a job travels in BullMQ's `data`. As text within JSON: PostgreSQL's jsonb refuses NUL and lone surrogates, which
// arguments may hold, and reorders members.
import { toolJobSchema, type ToolJob } from '#libs/schemas/tool-job.js';
import { z } from 'zod';

export interface JobPayload {
  job: string;
}

export const toPayload = (job: ToolJob): JobPayload => ({ job: JSON.stringify(job) });

export type ReadPayload = { kind: 'job'; job: ToolJob } | { kind: 'unknown version' } | { kind: 'invalid' };

const payloadSchema = z.object({ job: z.string() });
const versionSchema = z.object({ version: z.unknown() });

/** A version that this deploy does not know is another deploy's job, not a wrong one. */
export function readPayload(data: unknown): ReadPayload {
  const payload = payloadSchema.safeParse(data);
  if (!payload.success) return { kind: 'invalid' };
  let value: unknown;
  try {
    value = JSON.parse(payload.data.job);
  } catch {
    return { kind: 'invalid' };
  }
  const job = toolJobSchema.safeParse(value);
  if (job.success) return { kind: 'job', job: job.data };
  const version = versionSchema.safeParse(value);
  const known = version.success && version.data.version === toolJobSchema.shape.version.value;
  return { kind: known || !version.success ? 'invalid' : 'unknown version' };
}
