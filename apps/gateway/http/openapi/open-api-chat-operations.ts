// Descriptions of the routes of chats, responses and models.
import type { DescribedOperation } from './described-operation.js';
import {
  anything,
  chatHeaders,
  chatRequest,
  choice,
  completion,
  describedAs,
  flag,
  integer,
  json,
  list,
  message,
  messageCountRequest,
  messageRequest,
  model,
  object,
  pageLimit,
  response,
  responseRequest,
  sse,
  text,
} from './open-api-shapes.js';

const anthropicHeaders = { 'anthropic-version': 'Ignored', 'x-api-key': "The key, as sent by Anthropic's SDKs" };

export const chatOperations: Readonly<Record<string, DescribedOperation>> = {
  'POST /v1/chat/completions': {
    summary: 'A chat turn, exactly as the OpenAI API answers it',
    tag: 'chat',
    body: chatRequest,
    headers: chatHeaders,
    answers: { 200: { ...json(completion), ...sse('ChatChunk') } },
  },
  'POST /api/chat/completions': {
    summary: 'A chat turn as typed events that are also OpenAI chunks',
    tag: 'chat',
    body: chatRequest,
    headers: chatHeaders,
    answers: { 200: { ...json(completion), ...sse('ChatEvent') } },
  },
  'POST /v1/messages': {
    summary: "A chat turn in Anthropic's messages dialect",
    description: 'An `mcp_toolset` names a configured server. Events are those of the standard.',
    tag: 'chat',
    body: messageRequest,
    headers: { ...chatHeaders, ...anthropicHeaders },
    answers: { 200: { ...json(message), ...sse() } },
    errors: 'MessageError',
  },
  'POST /v1/messages/count_tokens': {
    summary: 'Counts the input tokens of a message, if its model can (Anthropic, Gemini, the offline model)',
    tag: 'chat',
    body: messageCountRequest,
    answers: { 200: json(object({ input_tokens: integer })) },
    errors: 'MessageError',
  },
  'POST /v1/responses': {
    summary: "A chat turn in OpenAI's responses dialect",
    description: 'Events are those of the standard.',
    tag: 'chat',
    body: responseRequest,
    headers: chatHeaders,
    answers: { 200: { ...json(response), ...sse() } },
  },
  'GET /v1/responses/{id}': {
    summary: 'A stored response',
    tag: 'chat',
    query: { stream: describedAs(choice('true', 'false'), '`true`: as a stream, from the start') },
    answers: { 200: { ...json(response), ...sse() } },
  },
  'POST /v1/responses/input_tokens': {
    summary: 'Counts the input tokens of a response, if its model can',
    tag: 'chat',
    body: responseRequest,
    answers: { 200: json(object({ object: { const: 'response.input_tokens' }, input_tokens: integer })) },
  },
  'GET /v1/responses/{id}/input_items': {
    summary: 'The input items of a stored response, with the conversation before it',
    tag: 'chat',
    query: {
      limit: pageLimit(100),
      order: describedAs(choice('asc', 'desc'), 'Default `desc`'),
      after: describedAs(text, '`id` of the last item of the previous page'),
    },
    answers: {
      200: json(
        object({ object: { const: 'list' }, data: list(anything), first_id: {}, last_id: {}, has_more: flag }, [
          'object',
          'data',
          'has_more',
        ]),
      ),
    },
  },
  'POST /v1/responses/{id}/cancel': {
    summary: 'Cancels a running response; one that has ended is returned unchanged',
    tag: 'chat',
    answers: { 200: json(response) },
  },
  'DELETE /v1/responses/{id}': {
    summary: 'Deletes a stored response',
    tag: 'chat',
    answers: { 200: json(object({ id: text, object: { const: 'response' }, deleted: { const: true } })) },
  },
  'GET /v1/models': {
    summary: 'Every configured model and alias',
    tag: 'models',
    answers: { 200: json(object({ object: { const: 'list' }, data: list(model) })) },
  },
  'GET /v1/models/{path}': {
    summary: 'One model; its name may contain slashes',
    tag: 'models',
    answers: { 200: json(model) },
  },
};
