// What the routes of resources and prompts are asked.
import { z } from 'zod';
import { sessionIdPattern } from '#libs/schemas/identifiers.js';

const name = z.string().min(1).max(2_048);
const value = z.string().max(65_536);
const asked = {
  server: z.string().min(1).max(64).nullish(),
  session_id: z.string().regex(sessionIdPattern).nullish(),
};

export const listOffersQuerySchema = z.object({
  server: name.optional(),
  text: name.optional(),
  limit: z.string().optional(),
  cursor: z.string().max(4_096).optional(),
});

export const readResourceSchema = z.object({ uri: name, ...asked });

export const getPromptSchema = z.object({ name, arguments: z.record(z.string(), value).nullish(), ...asked });

export const completeSchema = z.object({
  ref: z.discriminatedUnion(
    'type',
    [z.object({ type: z.literal('prompt'), name }), z.object({ type: z.literal('template'), uri: name })],
    { error: 'must be of type prompt or template' },
  ),
  argument: z.object({ name, value }),
  arguments: z.record(z.string(), value).nullish().describe('The arguments that are already chosen'),
  ...asked,
});
