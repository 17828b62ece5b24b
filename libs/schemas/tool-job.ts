// Jobs and replies as the queue carries them. A public API between two versions: versioned, new members are optional.
// Contains no fence and no secret: the journal decides who may run a call. Size is bounded: large arguments and
// results stay in the journal.
import { z } from 'zod';
import { parsedJson, parsedJsonObject } from './content-block.js';
import { toolOutcomeSchema } from './tool-outcome.js';

/** Arguments above this size (bytes of JSON) are not carried: 10,000 jobs must fit into the queue's memory. */
export const maxCarriedArgumentsBytes = 4 * 1024;

/** What a job asks its server for, other than a tool. */
const serverMethodSchema = z.enum(['resources/read', 'resources/subscribe', 'prompts/get', 'completion/complete']);

export type ServerMethod = z.infer<typeof serverMethodSchema>;

/** Levels of log messages, the least severe first. */
export const toolLogLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
const toolLogLevelSchema = z.enum(toolLogLevels);

export type ToolLogLevel = z.infer<typeof toolLogLevelSchema>;

/** A log message that a tool server sends its client during a call. */
export const toolLogSchema = z.object({
  level: toolLogLevelSchema,
  logger: z.string().optional().catch(undefined),
  data: parsedJson,
});

export type ToolLog = z.infer<typeof toolLogSchema>;

const toolJobMembers = z.object({
  /**
   * 2 if the arguments are not carried, 3 if the job has a method: a worker that does not know the version puts such a job
   * back.
   */
  version: z.literal([1, 2, 3]),
  callId: z.string(),
  /** Gateway whose reply channel gets the answer. */
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
  /** Directory name of the workspace, if the gateway has just created the session. */
  sessionDirectory: z.string().optional(),
  server: z.string(),
  tool: z.string(),
  /** Absent: `tools/call`. */
  method: serverMethodSchema.optional(),
  /** The name the caller knows the tool by, for rows and logs. */
  name: z.string(),
  definitionHash: z.string(),
  /** Absent if they are large: the worker that claims the call reads them from the journal. */
  arguments: parsedJsonObject.optional(),
  safe: z.boolean(),
  /** Only the worker with the session's lease may run the call. */
  stateful: z.boolean().optional(),
  /** The tool has an app, which gets structured content and `_meta` of results whole. */
  app: z.boolean().optional(),
  /** Where the caller's sealed headers are stored, and the key that opens them. */
  sealedHeaders: z.object({ ref: z.string(), key: z.string() }).optional(),
  /** Roles of the caller, for a server that is told who calls. */
  roles: z.array(z.string()).optional(),
  /** The gateway can get another token for the server, so the call may be parked for one. */
  renewsToken: z.boolean().optional(),
  /** The tool server may ask the caller; a question expires after `expiresMs`. Absent: nobody can be asked. */
  questions: z.object({ expiresMs: z.number().positive(), notify: z.boolean() }).optional(),
  /** Log messages of the server from this level on are sent to the gateway. Absent: none. */
  logLevel: toolLogLevelSchema.optional(),
  priority: z.enum(['interactive', 'batch']),
  timeoutMs: z.number().int().positive(),
  maxTimeoutMs: z.number().int().positive(),
  /** Epoch ms; the call does not start after it. */
  deadline: z.number(),
  queuedAt: z.number(),
});

export const toolJobVersions: ReadonlySet<unknown> = toolJobMembers.shape.version.values;

export const toolJobSchema = toolJobMembers.refine(
  ({ version, method, arguments: args }) =>
    version === 3 ? method !== undefined : method === undefined && (version === 1) === (args !== undefined),
  'version 1 carries its arguments, version 2 does not, version 3 has a method',
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
  /** Sent only to gateways whose jobs have `logLevel`. */
  z.object({ kind: z.literal('log'), callId: z.string(), log: toolLogSchema }),
  /** A question of the tool server was opened or closed; sent only to gateways whose jobs have `questions`. */
  z.object({ kind: z.literal('question'), callId: z.string(), open: z.boolean() }),
  /** Without `outcome`, the outcome is too large for the channel and must be read from the journal. */
  z.object({ kind: z.literal('outcome'), callId: z.string(), outcome: toolOutcomeSchema.optional() }),
]);

export type ToolReply = z.infer<typeof toolReplySchema>;

/** One message of a gateway's reply channel: the replies of one tick. Replies of unknown kinds are ignored. */
export const toolReplyMessageSchema = z.object({ version: z.literal(1), replies: z.array(z.unknown()) });

/** A message to every worker: stop these calls. */
export const toolControlSchema = z.object({
  version: z.literal(1),
  kind: z.literal('cancel'),
  callIds: z.array(z.string()),
  reason: z.string().optional(),
});

export type ToolControl = z.infer<typeof toolControlSchema>;

/** Whose instance of a tool server it is. A member that is absent: everybody's. */
const instanceOwnerSchema = z.object({ principal: z.string().optional(), sessionId: z.string().optional() });

export type InstanceOwner = z.infer<typeof instanceOwnerSchema>;

/** Resources that tool servers say have changed, for every gateway. Workers of a version before name no owners. */
export const resourceUpdatesSchema = z.object({
  version: z.literal(1),
  updates: z.array(instanceOwnerSchema.extend({ server: z.string(), uri: z.string() })),
});

export type ResourceUpdate = z.infer<typeof resourceUpdatesSchema>['updates'][number];

/** How long a server is asked to announce changes of a resource, unless gateways renew it. */
export const resourceLeaseMs = 240_000;

/** Names of all channels. */
export const channelNames = {
  replies: (gatewayId: string) => `replies:${gatewayId}`,
  workers: 'workers',
  /** Requests to one gateway to cancel a run that it owns. */
  gateway: (gatewayId: string) => `gateway:${gatewayId}`,
  /** Notifications that new events of a run were stored. */
  runEvents: (runId: string) => `run:${runId}`,
  catalog: 'catalog',
  resourceUpdates: 'resource-updates',
  /** Ids of approvals that were decided, or whose time was up. */
  approvals: 'approvals',
  /** Deleted sessions, for every process that has one in memory. */
  deletedSessions: 'deleted-sessions',
  /** Users who have connected to a tool server, or are not any more. */
  connections: 'connections',
  /** API keys have changed. */
  keys: 'keys',
} as const;
