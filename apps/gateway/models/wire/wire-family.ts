// The port of a vendor's folder: writing requests and reading answers. Everything else about an HTTP provider
// (connections, retries, deadlines, model lists) is the same for all and in wire-provider.ts.
import type { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import type { ProviderTool } from '#libs/schemas/tool-definition.js';
import type { ModelRequest } from '../model-provider.js';
import type { ErrorReader, UpstreamErrorMember } from './read-upstream-error.js';
import type { ToolNameRule, ToolNames } from '../conversation/tool-names.js';
import type { Warnings } from '../conversation/warnings.js';

export interface WireFamily {
  /** The address used if the configuration has none. */
  readonly baseUrl: string;
  readonly toolNames: ToolNameRule;
  /** The names of properties in tools' schemas that a model accepts; absent or undefined: any. */
  readonly propertyNames?: (model: string) => ToolNameRule | undefined;
  /** The API whose own tools the model can be offered; absent: none. */
  toolsOf?(request: ModelRequest): ProviderTool['api'] | undefined;
  /** Sent with every request; lower-case names. */
  headers(apiKey: string | undefined): Record<string, string>;
  /** @throws AppError for a request that the family cannot express */
  toRequest(request: ModelRequest, writing: Writing): WireRequest;
  /** The request that counts tokens; absent if the API cannot count. @throws AppError as `toRequest` */
  toCount?(request: ModelRequest, writing: Writing): CountRequest;
  /** The error in a body, if it has one. */
  readError(body: JsonObject): UpstreamErrorMember | undefined;
  readonly modelsPath: string;
  /** One page of the list at `modelsPath`. */
  readModels(body: JsonObject): { models: string[]; nextPath?: string };
}

/** A reader's view of its provider. */
export interface Reading {
  provider: string;
  errors: ErrorReader;
  names: ToolNames;
}

export interface Writing extends Reading {
  /** Gets a warning for whatever the request leaves out or changes. */
  warnings: Warnings;
}

export interface WireRequest {
  /** Relative to the base address. */
  path: string;
  body: string;
  reader: AnswerReader;
  /** Another way to ask the same after a refusal, if there is one. */
  instead?(error: AppError): WireRequest | undefined;
}

export interface CountRequest {
  /** Relative to the base address. */
  path: string;
  body: string;
  /** The member of the answer that has the number. */
  answer: string;
}

/** Reads one message, chunk by chunk; a whole answer is one chunk. Never throws on upstream data. */
export interface AnswerReader {
  /** The last event has been sent: later input is ignored. */
  readonly over: boolean;
  /** The message is complete, except perhaps for late usage: losing the connection now has no effect. */
  readonly settled: boolean;
  read(chunk: JsonObject, out: ModelEvent[]): void;
  /** The body has ended. `complete`: the upstream said so (`[DONE]`, or a whole answer). */
  end(complete: boolean, out: ModelEvent[]): void;
  fail(error: AppError, out: ModelEvent[]): void;
  /** The body of a request that continues the message; called at the end of an answer. */
  again?(): string | undefined;
}
