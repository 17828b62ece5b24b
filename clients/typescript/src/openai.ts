// Signalbox's additions to OpenAI's API, for the types of the `openai` package. Types only: nothing here runs.
import type { APIPromise, OpenAI } from 'openai';
import type { ChatCompletionStream, ChatCompletionStreamParams } from 'openai/lib/ChatCompletionStream';
import type { Stream } from 'openai/streaming';
import type { Chunk, GatewayAnswer, GatewayEvent, GatewayFields, McpServerTools, NamedMcpTool } from './chat-types.js';

/** A request of the package that may also offer the tools of servers. */
export type WithServerTools<Params> = Omit<Params, 'tools' | 'tool_choice'> & {
  tools?: (OpenAI.ChatCompletionTool | McpServerTools)[];
  tool_choice?: OpenAI.ChatCompletionToolChoiceOption | NamedMcpTool;
};

/** A chunk of `/api`, which has a `type`, or one of `/v1`, which has none. */
export type TypedChunk = OpenAI.ChatCompletionChunk & (OwnMembers<GatewayEvent> | { type?: never });
type OwnMembers<Event> = Event extends GatewayEvent ? Omit<Event, keyof Chunk> : never;

/** The value that the package reads from an answer in this form. */
type Parsed<Format> = Format extends { __output: infer Output }
  ? Output
  : Format extends { type: 'json_schema' }
    ? unknown
    : null;

interface Reasoning {
  reasoning_content?: string;
}

declare module 'openai/resources/chat/completions/completions' {
  interface ChatCompletionCreateParamsBase extends GatewayFields {}
  interface ChatCompletion extends GatewayAnswer {}
  interface ChatCompletionMessage extends Reasoning {}
  namespace ChatCompletionChunk.Choice {
    interface Delta extends Reasoning {}
  }

  // An augmentation cannot widen the type of `tools`, so the methods get overloads.
  interface Completions {
    create(
      body: WithServerTools<ChatCompletionCreateParamsNonStreaming>,
      options?: OpenAI.RequestOptions,
    ): APIPromise<ChatCompletion>;
    create(
      body: WithServerTools<ChatCompletionCreateParamsStreaming>,
      options?: OpenAI.RequestOptions,
    ): APIPromise<Stream<TypedChunk>>;
    create(
      body: WithServerTools<ChatCompletionCreateParamsBase>,
      options?: OpenAI.RequestOptions,
    ): APIPromise<Stream<TypedChunk> | ChatCompletion>;
    stream<Params extends WithServerTools<ChatCompletionStreamParams>>(
      body: Params,
      options?: OpenAI.RequestOptions,
    ): ChatCompletionStream<Parsed<Params['response_format']>>;
  }
}

declare module 'openai/resources/responses/responses' {
  interface ResponseCreateParamsBase extends GatewayFields {}
  interface Response extends GatewayAnswer {}
}
