// Translates OpenAI's parameters to Gemini's `generationConfig`. Values that a model refuses are left out or brought into its
// range, with a warning.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { ModelRequest } from '../model-provider.js';
import { readStops } from '../conversation/read-response-format.js';
import type { Warnings } from '../conversation/warnings.js';
import { takesPenalties, toThinkingConfig } from './gemini-models.js';

/** OpenAI's parameter names and Gemini's. */
const sameMeaning: Record<string, string> = {
  temperature: 'temperature',
  top_p: 'topP',
  max_tokens: 'maxOutputTokens',
  max_completion_tokens: 'maxOutputTokens',
};
const penalties: Record<string, string> = {
  presence_penalty: 'presencePenalty',
  frequency_penalty: 'frequencyPenalty',
};
const mostStops = 5;
const mostCandidates = 8;

export function toGenerationConfig(request: ModelRequest, warnings: Warnings): JsonObject {
  const { model, parameters, unknown, parallelToolCalls, tools } = request;
  const config: JsonObject = {};
  for (const [name, theirs] of Object.entries(sameMeaning)) {
    if (parameters[name] !== undefined) config[theirs] = parameters[name];
  }
  for (const [name, theirs] of Object.entries(penalties)) {
    const value = parameters[name];
    if (value === undefined) continue;
    if (takesPenalties(model)) config[theirs] = value;
    // Zero is the default.
    else if (value !== 0) warnings.leftOut(model, name);
  }
  if (typeof unknown['top_k'] === 'number') config['topK'] = unknown['top_k'];
  addSeed(config, request, warnings);
  addChoices(config, request, warnings);
  addStops(config, request, warnings);
  addThinking(config, request, warnings);
  // The API has log probabilities for few models, in a form of its own.
  if (parameters['logprobs'] === true) warnings.leftOut(model, 'logprobs');
  if (hasMembers(parameters['logit_bias'])) warnings.leftOut(model, 'logit_bias');
  if (parallelToolCalls === false && tools.length > 0) warnings.leftOut(model, 'parallel_tool_calls');
  return config;
}

function addSeed(config: JsonObject, { model, parameters: { seed } }: ModelRequest, warnings: Warnings): void {
  if (typeof seed !== 'number') return;
  if (seed === Math.trunc(seed) && seed >= -(2 ** 31) && seed < 2 ** 31) config['seed'] = seed;
  else warnings.add(`${model} accepts only 32-bit seeds, so the seed was left out`, 'seed');
}

function addChoices(config: JsonObject, { model, parameters: { n } }: ModelRequest, warnings: Warnings): void {
  if (typeof n !== 'number') return;
  config['candidateCount'] = Math.min(n, mostCandidates);
  if (n > mostCandidates) warnings.add(`${model} returns at most ${mostCandidates} choices`, 'n');
}

function addStops(config: JsonObject, { model, parameters }: ModelRequest, warnings: Warnings): void {
  const stops = readStops(parameters, model, warnings);
  if (stops.length > 0) config['stopSequences'] = stops.slice(0, mostStops);
  if (stops.length > mostStops) {
    warnings.add(`${model} accepts at most ${mostStops} stop sequences, so the rest were left out`, 'stop');
  }
}

function addThinking(config: JsonObject, { model, parameters }: ModelRequest, warnings: Warnings): void {
  const effort = parameters['reasoning_effort'];
  if (typeof effort !== 'string') return;
  const thinking = toThinkingConfig(model, effort);
  if (thinking !== undefined) config['thinkingConfig'] = thinking;
  else if (effort !== 'none') warnings.leftOut(model, 'reasoning_effort');
  const thinks = thinking?.['thinkingLevel'] === 'low' || Number(thinking?.['thinkingBudget'] ?? 0) > 0;
  if (effort !== 'none' || !thinks) return;
  warnings.add(`${model} always thinks, so it thinks as little as it can`, 'reasoning_effort');
}

const hasMembers = (value: Json | undefined): boolean => isJsonObject(value) && Object.keys(value).length > 0;
