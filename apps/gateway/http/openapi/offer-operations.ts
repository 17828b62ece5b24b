// Descriptions and shapes of the routes of resources and prompts. The members of what tool servers send are MCP's.
import { z } from 'zod';
import { completeSchema, getPromptSchema, readResourceSchema } from '../controllers/offers.dto.js';
import { type DescribedOperation, json, pageLimit } from './described-operation.js';
import { anything } from './open-api-shapes.js';

const text = z.string();
const open = <Shape extends z.core.$ZodLooseShape>(id: string, shape: Shape) => z.looseObject(shape).meta({ id });
const own = { title: text.optional(), description: text.optional() };

export const offeredResource = open('OfferedResource', {
  uri: text.describe('The name to read it by; it begins with `signalbox://` where two servers have the same URI'),
  server: text,
  name: text,
  ...own,
  mimeType: text.optional(),
});
export const offeredTemplate = open('OfferedTemplate', {
  uriTemplate: text,
  server: text,
  name: text,
  ...own,
  mimeType: text.optional(),
});
export const offeredPrompt = open('OfferedPrompt', {
  name: text.describe('The name to get it by; its server is in front where two servers have the same name'),
  server: text,
  ...own,
  arguments: z
    .array(z.looseObject({ name: text, description: text.optional(), required: z.boolean().optional() }))
    .optional(),
});
export const resourceContents = open('ResourceContents', {
  contents: z.array(
    z.looseObject({ uri: text, mimeType: text.optional(), text: text.optional(), blob: text.optional() }),
  ),
});
export const filledPrompt = open('FilledPrompt', {
  description: text.optional(),
  messages: z.array(z.looseObject({ role: z.enum(['user', 'assistant']), content: anything })),
});
export const completedArgument = open('CompletedArgument', {
  values: z.array(text),
  total: z.number().optional(),
  hasMore: z.boolean().optional(),
});

const page = (item: z.ZodType) =>
  json(z.object({ object: z.literal('list'), data: z.array(item), next_cursor: text.nullable() }));
const query = {
  server: text.describe('Only those of this server'),
  text: text.describe('Text in the name, title, description or URI'),
  limit: pageLimit(250, 100),
  cursor: text.describe('`next_cursor` of the page before'),
};

export const offerOperations: Readonly<Record<string, DescribedOperation>> = {
  'GET /api/resources': {
    summary: 'The resources of tool servers that the caller may read',
    query,
    answers: { 200: page(offeredResource) },
  },
  'GET /api/resources/templates': {
    summary: 'The templates of URIs by which further resources are read',
    query,
    answers: { 200: page(offeredTemplate) },
  },
  'POST /api/resources/read': {
    summary:
      'Reads a resource that is listed, or whose URI matches a template, through the same queue and journal as a tool call',
    body: readResourceSchema,
    answers: { 200: json(resourceContents) },
  },
  'GET /api/prompts': {
    summary: 'The prompts of tool servers that the caller may use',
    query,
    answers: { 200: page(offeredPrompt) },
  },
  'POST /api/prompts/get': {
    summary: 'The messages of a prompt with these arguments',
    body: getPromptSchema,
    answers: { 200: json(filledPrompt) },
  },
  'POST /api/completions/arguments': {
    summary: 'Values that a server proposes for an argument of a prompt, or of a template',
    body: completeSchema,
    answers: { 200: json(completedArgument) },
  },
};
