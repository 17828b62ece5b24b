// What travels through the queue and back. A public API between two deploys: versioned, new members optional.
// No fence and no secret is in it: the journal decides who may run it. Small whatever a caller sends: what is large stays in
// the journal.
import { z } from 'zod';
import { parsedJsonObject } from './parsed-json.js';
import { toolOutcomeSchema } from './tool-outcome.js';

/** Arguments above it, as bytes of JSON, are not carried: 10,000 jobs have to fit into the memory of a queue. */
export const maxCarriedArgumentsBytes = 4 * 1024;

const toolJobMembers = z.object({
  /** 2 where the arguments are not carried: a worker that knows 1 only puts such a job back. */
  version: z.literal([1, 2]),
  callId: z.string(),
  /** Gateway whose reply channel wants the answer. */
  replyTo: z.string(),
  principal: z.string(),
  keyId: z.string().optional(),
  ip: z.string().optional(),
  requestId: z.string(),
  traceparent: z.string().optional(),
  runId: z.string().optional(),
  round: z.number().int().optional(),
  model: z.string().optional(),
  sessionId: z.string(),
  /** Name of its workspace's directory where the gateway has just made the session: the worker need not. */
  sessionDirectory: z.string().optional(),
  server: z.string(),
  tool: z.string(),
  /** The name the caller knows the tool by, for rows and logs. */
  name: z.string(),
  definitionHash: z.string(),
  /** Absent where they are large: whoever claims the call reads them from the journal. */
  arguments: parsedJsonObject.optional(),
  safe: z.boolean(),
  /** Belongs to the worker that has its session. */
  stateful: z.boolean().optional(),
  /** Where the headers of the caller are, sealed, and what opens them. */
  sealedHeaders: z.object({ ref: z.string(), key: z.string() }).optional(),
  priority: z.enum(['interactive', 'batch']),
  timeoutMs: z.number().int().positive(),
  maxTimeoutMs: z.number().int().positive(),
  /** Epoch ms; not started after it. */
  deadline: z.number(),
  queuedAt: z.number(),
});

export const toolJobVersions: ReadonlySet<unknown> = toolJobMembers.shape.version.values;

export const toolJobSchema = toolJobMembers.refine(
  (job) => (job.version === 1) === (job.arguments !== undefined),
  'version 1 carries its arguments, version 2 does not',
);

export type ToolJob = z.infer<typeof toolJobSchema>;

export const toolReplySchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('started'), callId: z.string(), worker: z.string() }),
  z.object({
    kind: z.literal('progress'),
    callId: z.string(),
    progress: z.number(),
    total: z.number().optional(),
    message: z.string().optional(),
  }),
  /** Without `outcome` it was too large for the channel: read it from the journal. */
  z.object({ kind: z.literal('outcome'), callId: z.string(), outcome: toolOutcomeSchema.optional() }),
]);

export type ToolReply = z.infer<typeof toolReplySchema>;

/** One message of a gateway's reply channel: the replies of one tick. */
export const toolReplyMessageSchema = z.object({ version: z.literal(1), replies: z.array(toolReplySchema) });

/** A message to every worker: stop these calls. */
export const toolControlSchema = z.object({
  version: z.literal(1),
  kind: z.literal('cancel'),
  callIds: z.array(z.string()),
  reason: z.string().optional(),
});

export type ToolControl = z.infer<typeof toolControlSchema>;

/** Channel names, in one place. */
export const channelNames = {
  replies: (gatewayId: string) => `replies:${gatewayId}`,
  workers: 'workers',
  /** To one gateway: cancel a run that it owns. */
  gateway: (gatewayId: string) => `gateway:${gatewayId}`,
  /** New events of one run were stored. */
  runEvents: (runId: string) => `run:${runId}`,
  catalog: 'catalog',
  /** To every process: it may know this session from memory. */
  deletedSessions: 'deleted-sessions',
} as const;
