// What a vendor's folder gives: how a request is written and an answer read. Everything else that an HTTP provider does
// (connections, retries, deadlines, lists of models) is the same for all of them and lies in wire-provider.ts.
import type { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import type { ModelRequest } from '../model-provider.js';
import type { ErrorReader, UpstreamErrorMember } from './read-upstream-error.js';
import type { ToolNameRule, ToolNames } from '../conversation/tool-names.js';

export interface WireFamily {
  /** Where the API is when the configuration does not say. */
  readonly baseUrl: string;
  readonly toolNames: ToolNameRule;
  /** Sent with every request; lower case. */
  headers(apiKey: string | undefined): Record<string, string>;
  /** @throws AppError for what the family cannot say */
  toRequest(request: ModelRequest, reading: Reading): WireRequest;
  /** How the tokens of a request are asked for; absent where the API counts none. @throws AppError as `toRequest` */
  toCount?(request: ModelRequest, reading: Reading): CountRequest;
  /** The error that a body carries, if it is one. */
  readError(body: JsonObject): UpstreamErrorMember | undefined;
  readonly modelsPath: string;
  /** One page of the list under `modelsPath`. */
  readModels(body: JsonObject): { models: string[]; nextPath?: string };
}

/** What a reader needs of the provider that it reads for. */
export interface Reading {
  provider: string;
  errors: ErrorReader;
  names: ToolNames;
}

export interface WireRequest {
  /** Below the base address. */
  path: string;
  body: string;
  reader: AnswerReader;
}

export interface CountRequest {
  /** Below the base address. */
  path: string;
  body: string;
  /** The member of the answer that is the number. */
  answer: string;
}

/** Reads one message, chunk by chunk; a whole answer is one chunk. Never throws on what an upstream says. */
export interface AnswerReader {
  /** The last event is out: nothing after it counts. */
  readonly over: boolean;
  /** The message is whole and nothing but a late count of tokens can follow: a connection that breaks now costs nothing. */
  readonly settled: boolean;
  read(chunk: JsonObject, out: ModelEvent[]): void;
  /** The body is over. `complete`: the upstream said so itself (`[DONE]`, or a whole answer). */
  end(complete: boolean, out: ModelEvent[]): void;
  fail(error: AppError, out: ModelEvent[]): void;
  /** The body to send when the message is to be gone on with; asked once an answer is over. */
  again?(): string | undefined;
}
