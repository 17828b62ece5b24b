// Descriptions of the routes of chats, responses and models.
import { z } from 'zod';
import { messageRequestSchema } from '../../anthropic-api/message-request.schema.js';
import { chatRequestSchema } from '../../openai-api/chat-request.schema.js';
import { responseRequestSchema } from '../../responses-api/response-request.schema.js';
import { messageError } from './open-api-events.js';
import { type DescribedOperation, json, pageLimit, sse } from './described-operation.js';
import { anything, completion, listOf, message, model, response } from './open-api-shapes.js';

const flag = z.enum(['true', 'false']);
const id = z.string().nullable();
const inputTokens = { input_tokens: z.int() };
const chatHeaders = {
  'Idempotency-Key': 'The same key and body again attaches to the same run, or returns its answer',
  'x-request-id': 'Returned in the answer; generated if absent',
};
const anthropicHeaders = { 'anthropic-version': 'Ignored', 'x-api-key': "The key, as sent by Anthropic's SDKs" };

export const chatOperations: Readonly<Record<string, DescribedOperation>> = {
  'POST /v1/chat/completions': {
    summary: 'A chat turn, exactly as the OpenAI API answers it',
    body: chatRequestSchema,
    headers: chatHeaders,
    answers: { 200: { ...json(completion), ...sse('ChatChunk') } },
  },
  'POST /api/chat/completions': {
    summary: 'A chat turn as typed events that are also OpenAI chunks',
    body: chatRequestSchema,
    headers: chatHeaders,
    answers: { 200: { ...json(completion), ...sse('ChatEvent') } },
  },
  'POST /v1/messages': {
    summary: "A chat turn in Anthropic's messages dialect",
    description: 'An `mcp_toolset` names a configured server. Events are those of the standard.',
    body: messageRequestSchema,
    headers: { ...chatHeaders, ...anthropicHeaders },
    answers: { 200: { ...json(message), ...sse() } },
    errors: messageError,
  },
  'POST /v1/messages/count_tokens': {
    summary: 'Counts the input tokens of a message, if its model can (Anthropic, Gemini, the offline model)',
    body: messageRequestSchema.omit({ max_tokens: true }),
    answers: { 200: json(z.object(inputTokens)) },
    errors: messageError,
  },
  'POST /v1/responses': {
    summary: "A chat turn in OpenAI's responses dialect",
    description: 'Events are those of the standard.',
    body: responseRequestSchema,
    headers: chatHeaders,
    answers: { 200: { ...json(response), ...sse() } },
  },
  'GET /v1/responses/{id}': {
    summary: 'A stored response',
    query: { stream: flag.describe('`true`: as a stream, from the start') },
    answers: { 200: { ...json(response), ...sse() } },
  },
  'POST /v1/responses/input_tokens': {
    summary: 'Counts the input tokens of a response, if its model can',
    body: responseRequestSchema,
    answers: { 200: json(z.object({ object: z.literal('response.input_tokens'), ...inputTokens })) },
  },
  'GET /v1/responses/{id}/input_items': {
    summary: 'The input items of a stored response, with the conversation before it',
    query: {
      limit: pageLimit(100),
      order: z.enum(['asc', 'desc']).describe('Default `desc`'),
      after: z.string().describe('`id` of the last item of the previous page'),
    },
    answers: { 200: json(listOf(anything).extend({ first_id: id, last_id: id, has_more: z.boolean() })) },
  },
  'POST /v1/responses/{id}/cancel': {
    summary: 'Cancels a running response; one that has ended is returned unchanged',
    answers: { 200: json(response) },
  },
  'DELETE /v1/responses/{id}': {
    summary: 'Deletes a stored response',
    answers: { 200: json(z.object({ id: z.string(), object: z.literal('response'), deleted: z.literal(true) })) },
  },
  'GET /v1/models': { summary: 'Every configured model and alias', answers: { 200: json(listOf(model)) } },
  'GET /v1/models/{path}': { summary: 'One model; its name may contain slashes', answers: { 200: json(model) } },
};
