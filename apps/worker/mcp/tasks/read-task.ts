// Reads a task as a server shows it, in either era.
import { z } from 'zod';
import { AppError } from '#libs/schemas/errors.js';

const taskSchema = z.looseObject({
  taskId: z.string().min(1).max(1_024),
  status: z.enum(['working', 'input_required', 'completed', 'failed', 'cancelled']),
  statusMessage: z.string().optional().catch(undefined),
  pollIntervalMs: z.number().optional().catch(undefined),
  /** The name in 2025-11-25. */
  pollInterval: z.number().optional().catch(undefined),
  inputRequests: z.record(z.string(), z.looseObject({ method: z.string(), params: z.unknown() })).optional(),
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.looseObject({ code: z.int(), message: z.string() }).optional(),
});

export type ServerTask = z.output<typeof taskSchema>;

/** @throws AppError invalid_tool_result */
export function readTask(shown: unknown): ServerTask {
  const read = taskSchema.safeParse(shown);
  if (read.success) return read.data;
  throw new AppError('invalid_tool_result', 'The tool server shows a task that cannot be read');
}

const pollMs = { least: 100, usual: 1_000, most: 30_000 };

export function pauseOf({ pollIntervalMs, pollInterval }: ServerTask): number {
  return Math.min(Math.max(pollIntervalMs ?? pollInterval ?? pollMs.usual, pollMs.least), pollMs.most);
}
