// Descriptions of the routes that list runs, show one, and say how the gateway is.
import { z } from 'zod';
import { maxDraftLength } from '#libs/config/policy-draft.js';
import { shownRunStates, textBounds } from '#libs/runs/listing/run-filter.js';
import { type DescribedOperation, json, pageLimit } from './described-operation.js';
import { anything, run } from './open-api-shapes.js';
import { me, overview, worker } from './overview-shapes.js';
import { listedRun, runDetails } from './run-shapes.js';
import { modelsHealth, settingsAnswer } from './system-shapes.js';

const text = z.string();

export const runOperations: Readonly<Record<string, DescribedOperation>> = {
  'GET /api/runs': {
    summary: 'The stored runs of the caller, newest first; for administrators everybody’s',
    description:
      'A page may be short, or empty, and still be followed by others: a page reads a bounded number of runs. ' +
      'Chats without a server tool are not stored.',
    query: {
      state: z.enum(shownRunStates),
      model: text.describe('As the caller named it, or `provider/model` of a model that answered'),
      principal: text,
      session: text,
      tool: text.describe('`server/tool`, or a tool name on any server'),
      error: text.describe('The code of the error that the run ended with'),
      text: text.describe(
        `Text in the id of the run, or in the first ${textBounds.searched} characters of the last message of the user, ` +
          'upper or lower case',
      ),
      since: text.describe('Runs from this time on, ISO 8601'),
      until: text.describe('Runs before this time, ISO 8601'),
      limit: pageLimit(100),
      cursor: text.describe('`next_cursor` of the page before'),
    },
    answers: { 200: json(z.object({ data: z.array(listedRun), next_cursor: text.nullable() })) },
  },
  'GET /api/runs/{id}': {
    summary: 'A stored run; for administrators anybody’s',
    query: {
      include: text.describe('A list of `rounds`, `calls` and `events`: adds `round_list`, `call_list`, `event_list`'),
    },
    answers: { 200: json(runDetails) },
  },
  'POST /api/runs/{id}/replay': {
    summary: 'Runs a stored turn once more with its recorded results: no tool is called',
    description:
      'The replay is a new run of the caller. Follow it by `GET /api/runs/{id}/events`. Nobody is asked for anything. ' +
      'Its model calls are paid as any others.',
    body: z.strictObject({
      model: text.optional().describe('Another model, as in a chat; absent: that of the run'),
      messages: z
        .array(anything)
        .optional()
        .describe(
          'They replace the whole conversation before the first answer: what `messages` of the run begins with',
        ),
      policy: text
        .max(maxDraftLength)
        .optional()
        .describe(
          'The text of a policy file (YAML or JSON), tried on the calls: what it denies is refused, and what needs an approval is ' +
            'shown so and goes on. Absent: recorded decisions hold',
        ),
    }),
    bodyOptional: true,
    answers: { 202: json(listedRun) },
  },
  'DELETE /api/runs/{id}': {
    summary: 'Cancels a run; one that has ended is returned unchanged',
    answers: { 200: json(run) },
  },
  'GET /api/overview': {
    summary: 'What waits for a person, what is wrong, what runs, and the last 24 hours',
    description: 'Administrators see everybody’s, other callers their own.',
    answers: { 200: json(overview) },
  },
  'GET /api/workers': {
    summary: 'The workers, and those that stopped without saying so in the last 15 minutes; for administrators',
    answers: { 200: json(z.object({ workers: z.array(worker) })) },
  },
  'GET /api/models/health': {
    summary: 'Providers, aliases and prices, and how their calls went; for administrators',
    description:
      'Calls, circuits and fallbacks are those of the gateway that answers, since it started; usage is that of all gateways.',
    answers: { 200: json(modelsHealth) },
  },
  'GET /api/settings': {
    summary: 'The settings in force and where they come from, versions and health checks; for administrators',
    answers: { 200: json(settingsAnswer) },
  },
  'GET /api/me': {
    summary: 'Who asks, what they may do, and how one can sign in; for everybody',
    answers: { 200: json(me) },
  },
};
