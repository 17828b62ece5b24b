// Test support: the official SDKs' types of the wire formats, which the bodies of test/golden must match. All deviations
// are here: where an SDK's type differs from its wire, and extensions of compatible servers.
import type { Warning } from '#libs/schemas/warning.js';
import type Anthropic from '@anthropic-ai/sdk';
import type { Content, GenerateContentResponse, GenerationConfig, Tool, ToolConfig } from '@google/genai';
import type OpenAI from 'openai';

/** DeepSeek and similar; Gemini's OpenAI-compatible API. */
interface Reasoning {
  reasoning_content?: string;
}
interface ExtraContent {
  extra_content?: { google: { thought_signature: string } };
}

type OpenAiMessage = OpenAI.ChatCompletionMessageParam & Reasoning;
export type OpenAiRequest = Omit<OpenAI.ChatCompletionCreateParamsStreaming, 'messages'> & {
  messages: OpenAiMessage[];
};
export type ResponsesRequest = OpenAI.Responses.ResponseCreateParamsStreaming;
/** Our API version still accepts these; the later version that the SDK targets does not. */
export type AnthropicRequest = Anthropic.MessageCreateParamsStreaming & { temperature?: number; top_p?: number };

/** Enumerations by value, lower case allowed; int64 as numbers; parts of one kind each. */
type Wire<T> = T extends string
  ? string extends T
    ? string
    : `${T}` | Lowercase<`${T}`>
  : T extends (infer Item)[]
    ? Wire<Item>[]
    : T extends object
      ? { [Key in keyof T]: Key extends `${'min' | 'max'}${'Items' | 'Length' | 'Properties'}` ? number : Wire<T[Key]> }
      : T;

export interface GeminiRequest {
  contents: Wire<Content>[];
  systemInstruction?: Wire<Content>;
  tools?: Wire<Tool>[];
  toolConfig?: Wire<ToolConfig>;
  generationConfig?: Wire<GenerationConfig>;
}

/** Fixtures may omit members, but present members must be known and of the right type. */
type Part<T> = T extends (infer Item)[]
  ? Part<Item>[]
  : T extends object
    ? { [Key in keyof T]?: Key extends 'type' ? T[Key] : Part<T[Key]> }
    : T;

type Delta = Part<OpenAI.ChatCompletionChunk.Choice.Delta> & Reasoning;
export type OpenAiAnswer = Part<Omit<OpenAI.ChatCompletionChunk, 'choices'>> & {
  choices: { index: number; delta: Delta; finish_reason: OpenAI.ChatCompletionChunk.Choice['finish_reason'] }[];
};
type CompletionMessage = Part<OpenAI.ChatCompletionMessage> &
  Reasoning & { tool_calls?: (OpenAI.ChatCompletionMessageToolCall & ExtraContent)[] };
/** Complete, as an upstream and the gateway return it. */
export type OpenAiWhole = Part<Omit<OpenAI.ChatCompletion, 'choices' | 'usage'>> & {
  choices: {
    index: number;
    message: CompletionMessage;
    finish_reason: OpenAI.ChatCompletion.Choice['finish_reason'];
  }[];
  usage: Part<OpenAI.CompletionUsage> & { prompt_tokens_details?: { cache_creation_tokens?: number } };
  /** The gateway's own. */
  warnings?: Warning[];
};
/** An event by its name; fixtures may omit its other members. */
type EventOf<Event> = Event extends { type: string } ? Pick<Event, 'type'> & Part<Omit<Event, 'type'>> : never;
export type ResponsesAnswer = EventOf<OpenAI.Responses.ResponseStreamEvent>;
export type ResponsesWhole = Part<OpenAI.Responses.Response>;
export type AnthropicAnswer = Part<Anthropic.RawMessageStreamEvent>;
export type AnthropicWhole = Part<Anthropic.Message>;
export type GeminiAnswer = Wire<
  Part<Pick<GenerateContentResponse, 'candidates' | 'promptFeedback' | 'usageMetadata' | 'modelVersion' | 'responseId'>>
>;
