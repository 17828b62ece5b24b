// Test support: what the official SDKs say of the wires, for the bodies of test/golden to be held against. What an SDK
// types otherwise than its wire takes it, and what compatible servers know beyond it, stands here and nowhere else.
import type Anthropic from '@anthropic-ai/sdk';
import type { Content, GenerateContentResponse, GenerationConfig, Tool, ToolConfig } from '@google/genai';
import type OpenAI from 'openai';

/** DeepSeek and its like; Gemini's OpenAI-compatible API. */
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
/** The version of the API that is asked for takes them still; later ones, which the SDK is made for, do not. */
export type AnthropicRequest = Anthropic.MessageCreateParamsStreaming & { temperature?: number; top_p?: number };

/** Enumerations by their values, in small letters too; int64 as numbers; parts of one kind each. */
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

/** Fixtures leave out what says nothing; what they say must be known, and of its type. */
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
/** Whole, as an upstream gives it and as the gateway does. */
export type OpenAiWhole = Part<Omit<OpenAI.ChatCompletion, 'choices' | 'usage'>> & {
  choices: {
    index: number;
    message: CompletionMessage;
    finish_reason: OpenAI.ChatCompletion.Choice['finish_reason'];
  }[];
  usage: Part<OpenAI.CompletionUsage> & { prompt_tokens_details?: { cache_creation_tokens?: number } };
};
export type AnthropicAnswer = Part<Anthropic.RawMessageStreamEvent>;
export type AnthropicWhole = Part<Anthropic.Message>;
export type GeminiAnswer = Wire<
  Part<Pick<GenerateContentResponse, 'candidates' | 'promptFeedback' | 'usageMetadata' | 'modelVersion' | 'responseId'>>
>;
