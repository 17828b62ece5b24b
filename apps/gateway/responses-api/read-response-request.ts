// Reads the body of a responses request as a TurnRequest. An error names the invalid field.
import type { Config } from '#libs/config/schema.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Json, JsonObject } from '#libs/schemas/json.js';
import type { TurnRequest } from '../turn/turn-request.js';
import type { RecalledTurn } from '../turn/runs/recall-turn.js';
import { gatewayOptions } from '../chat-apis/gateway-fields.js';
import { refuseTooMany, requireObject, validatedBody, withoutNullMembers } from '../chat-apis/invalid-value.js';
import { refuseStrayResults } from '../chat-apis/read-tools.js';
import { readInput } from './read-input.js';
import { readResponseChoice } from './tools/read-response-choice.js';
import { readResponseTools } from './tools/read-response-tools.js';
import { type ResponseRequestBody, responseRequestSchema } from './response-request.schema.js';

/** @throws AppError invalid_value, too_many_tools, reserved_name */
export function readResponseRequest(body: unknown, limits: Config['limits']): TurnRequest {
  const given = requireObject(body);
  refuseTooMany(given['input'], limits.messages, 'input');
  refuseTooMany(given['tools'], limits.tools, 'tools');
  const request = validatedBody(responseRequestSchema, withoutNullMembers(given));
  const previous = request.previous_response_id;
  if (request.input === undefined && previous === undefined) {
    throw new AppError('invalid_value', 'input: is required', { param: 'input' });
  }
  const read = readResponseTools(request, limits);
  const { tools, warnings } = read;
  const { messages, paths } = readInput(request.input, read.names);
  if (previous === undefined) refuseStrayResults(messages, (result) => paths.get(result) ?? 'input');
  return {
    dialect: 'responses',
    messages,
    tools,
    stream: request.stream ?? false,
    includeUsage: true,
    parameters: readParameters(request),
    unknown: typeof request.text?.verbosity === 'string' ? { verbosity: request.text.verbosity } : {},
    store: request.store ?? true,
    echo: readEcho(request),
    ...gatewayOptions(request),
    instructions: request.instructions || undefined,
    model: request.model,
    ...readResponseChoice(request.tool_choice, read),
    warnings: warnings.length > 0 ? warnings : undefined,
    parallelToolCalls: request.parallel_tool_calls,
  };
}

/** Adds the conversation of the previous response to a request. @throws AppError invalid_value, request_too_large */
export function continueFrom(previous: RecalledTurn, request: TurnRequest, limits: Config['limits']): TurnRequest {
  const { history, open } = previous;
  const messages = open === undefined ? request.messages : [...open, ...request.messages];
  refuseStrayResults(messages, () => 'input');
  refuseTooMany([...history, ...messages], limits.messages, 'previous_response_id');
  // The same bound as for a request with the whole history, since each stored turn contains all before it.
  const size = Buffer.byteLength(JSON.stringify(history));
  if (size > limits.body_bytes) {
    const message = `The previous conversation has ${size} bytes, more than the limit of ${limits.body_bytes}`;
    throw new AppError('request_too_large', message, { param: 'previous_response_id' });
  }
  return { ...request, history, messages, sessionId: request.sessionId ?? previous.sessionId };
}

function readParameters(request: ResponseRequestBody): JsonObject {
  const { temperature, top_p, max_output_tokens, reasoning, user } = request;
  const format = readFormat(request.text?.format ?? undefined);
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(top_p === undefined ? {} : { top_p }),
    ...(max_output_tokens === undefined ? {} : { max_tokens: max_output_tokens }),
    ...(typeof reasoning?.effort === 'string' ? { reasoning_effort: reasoning.effort } : {}),
    ...(user === undefined ? {} : { user }),
    ...(format === undefined ? {} : { response_format: format }),
  };
}

type TextFormat = NonNullable<NonNullable<ResponseRequestBody['text']>['format']>;

function readFormat(format: TextFormat | undefined): JsonObject | undefined {
  if (format === undefined || format.type === 'text') return undefined;
  if (format.type === 'json_object') return { type: 'json_object' };
  const { name, schema, description, strict } = format;
  return {
    type: 'json_schema',
    json_schema: {
      name,
      schema: schema as JsonObject,
      ...(typeof description === 'string' ? { description } : {}),
      ...(typeof strict === 'boolean' ? { strict } : {}),
    },
  };
}

/** A caller's credentials for a server are not used, so they are neither stored nor returned. */
function withoutCredentials(tool: NonNullable<ResponseRequestBody['tools']>[number]): object {
  if (tool.type !== 'mcp') return tool;
  const { authorization: _, headers: __, ...shown } = tool;
  return shown;
}

/** The members of the request that every response repeats, with OpenAI's values for absent ones. */
function readEcho(request: ResponseRequestBody): JsonObject {
  const json = (value: unknown, otherwise: Json): Json => (value ?? otherwise) as Json;
  return {
    instructions: json(request.instructions, null),
    max_output_tokens: json(request.max_output_tokens, null),
    metadata: json(request.metadata, {}),
    parallel_tool_calls: json(request.parallel_tool_calls, true),
    previous_response_id: json(request.previous_response_id, null),
    reasoning: { effort: json(request.reasoning?.effort, null), summary: json(request.reasoning?.summary, null) },
    store: json(request.store, true),
    temperature: json(request.temperature, null),
    text: { format: json(request.text?.format, { type: 'text' }) },
    tool_choice: json(request.tool_choice, 'auto'),
    tools: json(request.tools?.map(withoutCredentials), []),
    top_p: json(request.top_p, null),
    truncation: 'disabled',
    ...(request.user === undefined ? {} : { user: request.user }),
  };
}
