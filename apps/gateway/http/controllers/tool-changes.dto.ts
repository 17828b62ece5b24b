// The body of `POST /api/tools/changes`.
import { z } from 'zod';
import type { ChangeDecision } from '#libs/runs/catalog/tool-changes.js';
import { invalidValue } from '../../chat-apis/invalid-value.js';

const maxChanges = 1_000;

const decideChangesSchema = z.strictObject({
  decision: z.enum(['accept', 'reject']),
  changes: z
    .array(
      z.strictObject({
        server: z.string().min(1).max(64),
        tool: z.string().min(1).max(512),
        /** Of the definition that the operator reviewed; null for a removed tool. */
        hash: z
          .string()
          .regex(/^[0-9a-f]{64}$/)
          .nullable(),
      }),
    )
    .min(1)
    .max(maxChanges),
});

/** @throws AppError invalid_value, with the invalid member as `param` */
export function readDecideChanges(body: unknown): { decision: 'accept' | 'reject'; changes: ChangeDecision[] } {
  const read = decideChangesSchema.safeParse(body);
  if (read.success) return read.data;
  throw invalidValue(read.error);
}
