// The answers of the routes that list runs and show one in detail.
import { z } from 'zod';
import { shownRunStates } from '#libs/runs/listing/run-filter.js';
import { resultSources, storedCallStates } from '#libs/schemas/tool-outcome.js';
import { anything, named, run, toolExecution, usage } from './open-api-shapes.js';

const text = z.string();
const count = z.int();
const ms = z.number();
const time = text.meta({ format: 'date-time' });
const stopCause = toolExecution.shape.stopped_by;
const runError = z.looseObject({ code: text, message: text, type: text });

export const listedRun = named('ListedRun', {
  id: text,
  state: z.enum(shownRunStates).describe('`waiting`: a call of the run waits for a person'),
  created_at: time,
  duration_ms: ms.describe('Until now, if the run has not ended'),
  model: text.nullable().describe('As the caller named it, or the default model'),
  principal: text,
  session_id: text.nullable(),
  rounds: count,
  calls: count,
  tools: z.array(text).describe('The tools that were called, as `server/tool`'),
  usage,
  cost_usd: z.number().nullable().describe('By the prices of today; null if a model has no price'),
  stopped_by: stopCause,
  replay_of: text.nullable().describe('The run that this one replays; null for any other run'),
  error: runError.optional(),
  spent_ms: z
    .object({ model: ms, queue: ms, tool: ms, person: ms })
    .describe('What the time went to. Of calls that ran together, the last one to end counts'),
});

export const runRound = named('ShownRound', {
  round: count,
  provider: text,
  model: text,
  sent: count.describe('How many of `messages` the model was sent'),
  message: anything.describe('What the model answered, as an assistant message'),
  finish_reason: text,
  usage,
  cost_usd: z.number().nullable(),
  started_at: time,
  ended_at: time,
});

export const waitOfCall = named('WaitOfCall', {
  id: text,
  state: text,
  decided_by: text.nullable(),
  decision_reason: text.nullable(),
  created_at: time,
  expires_at: time,
  decided_at: time.nullable(),
});

export const detailedCall = named('ShownCall', {
  id: text,
  round: count,
  kind: z.enum(['server', 'client']).describe('`client`: the caller runs it'),
  name: text.describe('The name that the model called'),
  server: text,
  tool: text,
  state: z.enum(storedCallStates),
  arguments: anything,
  result: z.looseObject({ success: z.boolean(), content: text, duration_ms: ms }).nullable(),
  policy: z
    .object({ verdict: z.enum(['allow', 'require_approval', 'deny']), rule: text.nullable() })
    .nullable()
    .describe('Null for calls that the policy was not asked about'),
  approval: waitOfCall.extend({ reason: text.nullable(), edited: z.boolean() }).nullable(),
  sign_ins: z
    .array(waitOfCall)
    .optional()
    .describe('The sign-ins of its caller at the tool server that it waited for, in order'),
  questions: count.describe('What its tool server asked people meanwhile'),
  person_wait_ms: ms,
  queue_wait_ms: ms.nullable(),
  duration_ms: ms.nullable(),
  attempts: count,
  worker: text.nullable(),
  isolation: text.nullable(),
  cached: z.boolean(),
  truncated: z.boolean(),
  planned_at: time,
  started_at: time.nullable(),
  ended_at: time.nullable(),
  audit_id: text.nullable().describe('The row of the audit; null if there is none'),
  trace_id: text.nullable().describe('Of the request that made the call; null if it had none'),
  trace_url: text.nullable().describe('Where that trace can be looked at; null without `telemetry.trace_url`'),
  replayed: z
    .enum(resultSources)
    .nullable()
    .describe(
      'Of a call of a replay: whether the recorded run has the same call, a call of that tool with other arguments, or neither',
    ),
});

/** An event as the stream has it, where pieces of one text follow each other as one event. */
export const runEvent = z
  .looseObject({ n: count.describe('The number of its last piece'), type: text })
  .meta({ id: 'ShownEvent' });

/** The last five are there if `include` asks for them. */
export const runDetails = named('RunDetails', {
  ...listedRun.shape,
  ...run.shape,
  request: anything.optional().describe('The request as it was read, without its messages'),
  messages: z.array(anything).optional().describe('The conversation that the models were sent, in order'),
  round_list: z.array(runRound).optional(),
  call_list: z.array(detailedCall).optional(),
  event_list: z.array(runEvent).optional(),
});
