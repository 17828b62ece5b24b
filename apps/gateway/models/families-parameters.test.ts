// Parameters that a model refuses, or not in this size or together: what is sent instead, and what is reported of it.
import { expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { type Kind, writeRequest } from '../../../test/fixtures/read-family.js';
import { verifies } from '../../../test/verifies.js';
import type { ModelRequest } from './model-provider.js';
import { toPromptedRequest } from './prompted/to-prompted-request.js';

function asked(kind: Kind, model: string, parameters: JsonObject, more: Partial<ModelRequest> = {}) {
  const { json, reported } = writeRequest(kind, { model, parameters, ...more });
  const sent = kind === 'gemini' ? ((json['generationConfig'] ?? {}) as JsonObject) : (json as JsonObject);
  return { json, sent, params: reported().map(({ param }) => param) };
}
const gemini = (model: string, parameters: JsonObject, more?: Partial<ModelRequest>) =>
  asked('gemini', model, parameters, more);
const claude = (model: string, parameters: JsonObject, more?: Partial<ModelRequest>) =>
  asked('anthropic', model, parameters, more);

verifies('models.parameters', 'Gemini: penalties', () => {
  const penalties = { presence_penalty: 0.5, frequency_penalty: -0.5 };
  for (const model of ['gemini-2.5-flash', 'gemini-2.5-pro', 'gemini-3-pro-preview', 'gemini-flash-latest']) {
    expect(gemini(model, penalties)).toMatchObject({ sent: {}, params: ['presence_penalty', 'frequency_penalty'] });
    expect(gemini(model, penalties).sent).not.toHaveProperty('presencePenalty');
    expect(gemini(model, { presence_penalty: 0, frequency_penalty: 0 }).params).toEqual([]);
  }
  const sent = { presencePenalty: 0.5, frequencyPenalty: -0.5 };
  expect(gemini('gemini-2.0-flash', penalties)).toMatchObject({ sent, params: [] });
});

verifies('models.parameters', 'Gemini: thinking that cannot be turned off, or on', () => {
  const none = { reasoning_effort: 'none' };
  expect(gemini('gemini-2.5-pro', none)).toMatchObject({
    sent: { thinkingConfig: { thinkingBudget: 128, includeThoughts: false } },
    params: ['reasoning_effort'],
  });
  for (const model of ['gemini-2.5-flash', 'gemini-2.5-flash-lite']) {
    expect(gemini(model, none)).toMatchObject({ sent: { thinkingConfig: { thinkingBudget: 0 } }, params: [] });
  }
  expect(gemini('gemini-3-pro-preview', none).params).toEqual(['reasoning_effort']);
  expect(gemini('gemini-3-flash', none).params).toEqual([]);
  expect(gemini('gemini-2.0-flash', { reasoning_effort: 'high' })).toMatchObject({ params: ['reasoning_effort'] });
});

verifies('models.parameters', 'Gemini: seeds, stops, choices, log probabilities, one call at a time', () => {
  const model = 'gemini-2.5-flash';
  expect(gemini(model, { seed: 2 ** 31 })).toMatchObject({ sent: {}, params: ['seed'] });
  expect(gemini(model, { seed: 2 ** 31 - 1 })).toMatchObject({ sent: { seed: 2 ** 31 - 1 }, params: [] });
  expect(gemini(model, { stop: ['1', '2', '3', ' ', '4', '5', '6'] })).toMatchObject({
    sent: { stopSequences: ['1', '2', '3', '4', '5'] },
    params: ['stop', 'stop'],
  });
  expect(gemini(model, { n: 9 })).toMatchObject({ sent: { candidateCount: 8 }, params: ['n'] });
  expect(gemini(model, { logprobs: true, top_logprobs: 2, logit_bias: { a: 1 } })).toMatchObject({
    params: ['logprobs', 'logit_bias'],
  });
  expect(gemini(model, {}, { unknown: { top_k: 5 } }).sent).toEqual({ topK: 5 });
  const single = { parallelToolCalls: false, tools: [{ name: 'f' }] };
  expect(gemini(model, {}, single).params).toEqual(['parallel_tool_calls']);
});

verifies('models.parameters', 'Anthropic: sampling', () => {
  const older = 'claude-sonnet-4-5';
  expect(claude(older, { temperature: 1.5 })).toMatchObject({ sent: { temperature: 1 }, params: ['temperature'] });
  const both = claude(older, { temperature: 0.5, top_p: 0.5 });
  expect(both).toMatchObject({ sent: { temperature: 0.5 }, params: ['top_p'] });
  expect(both.sent).not.toHaveProperty('top_p');
  expect(claude(older, {}, { unknown: { top_k: 5 } })).toMatchObject({ sent: { top_k: 5 }, params: [] });
  const newest = claude('claude-opus-4-8', { temperature: 0.5, top_p: 0.5 }, { unknown: { top_k: 5 } });
  expect(newest.params).toEqual(['temperature', 'top_p', 'top_k']);
  expect(newest.sent).not.toHaveProperty('temperature');
  expect(claude('claude-opus-4-8', { temperature: 1, top_p: 1 }).params).toEqual([]);
  expect(claude(older, { temperature: 0.5, reasoning_effort: 'low' }).params).toEqual(['temperature']);
});

verifies('models.parameters', 'Anthropic: what it does not have', () => {
  const model = 'claude-sonnet-4-5';
  const parameters = { presence_penalty: 1, seed: 0, logprobs: true, logit_bias: { a: 1 }, user: 'u'.repeat(257) };
  const { sent, params } = claude(model, { ...parameters, stop: ['\n', 'END'] });
  expect(new Set(params)).toEqual(new Set(['logit_bias', 'logprobs', 'presence_penalty', 'seed', 'stop', 'user']));
  expect(sent).toMatchObject({ stop_sequences: ['END'] });
  expect(sent).not.toHaveProperty('metadata');
  expect(claude(model, { presence_penalty: 0, logprobs: false, logit_bias: {}, user: 'u' }).params).toEqual([]);
  expect(claude('claude-3-5-haiku-latest', { reasoning_effort: 'low' }).params).toEqual(['reasoning_effort']);
  const forced: Partial<ModelRequest> = { tools: [{ name: 'f' }], toolChoice: 'required' };
  expect(claude(model, { reasoning_effort: 'low' }, forced).params).toEqual(['reasoning_effort']);
});

const openAi = (model: string, parameters: JsonObject, more?: Partial<ModelRequest>) =>
  asked('openai', model, parameters, more);
const responses = (model: string, parameters: JsonObject, more?: Partial<ModelRequest>) =>
  asked('responses', model, parameters, more);
const tuned = { temperature: 0.5, top_p: 0.5, presence_penalty: 1, frequency_penalty: 1 };

verifies('models.parameters', 'OpenAI: sampling of models that reason', () => {
  for (const model of ['gpt-5', 'o3', 'o4-mini', 'openai/gpt-5-mini']) {
    const { sent, params } = openAi(model, tuned);
    expect(params, model).toEqual(Object.keys(tuned));
    for (const name of Object.keys(tuned)) expect(sent, model).not.toHaveProperty(name);
    const untuned = { temperature: 1, top_p: 1, presence_penalty: 0, frequency_penalty: 0 };
    expect(openAi(model, untuned).params, model).toEqual([]);
  }
  for (const [model, more] of [
    ['gpt-4.1', {}],
    ['gpt-5-chat-latest', {}],
    ['gpt-5.1', {}],
    ['gpt-oss-120b', {}],
    ['gemini-2.5-flash', {}],
    ['gpt-5.2', { reasoning_effort: 'none' }],
  ] as const) {
    expect(openAi(model, { ...tuned, ...more }), model).toMatchObject({ sent: tuned, params: [] });
  }
  const thinking = openAi('gpt-5.1', { temperature: 0.5, reasoning_effort: 'low' });
  expect(thinking.params).toEqual(['temperature']);
  expect(responses('gpt-oss-120b', { temperature: 0.5 })).toMatchObject({ sent: { temperature: 0.5 }, params: [] });
  expect(responses('gpt-5.5', { temperature: 1, top_p: 0.5 }).params).toEqual(['top_p']);
});

verifies('models.parameters', 'OpenAI: fields of the other API, and of other vendors', () => {
  const unknown = {
    top_k: 5,
    verbosity: 'low',
    modalities: ['text', 'audio'],
    audio: { voice: 'a' },
    prediction: { type: 'content', content: 'x' },
    web_search_options: { search_context_size: 'low' },
    service_tier: 'auto',
  };
  const { sent, params } = responses('gpt-5.5', { stop: ['a'], presence_penalty: 0, logprobs: false }, { unknown });
  expect(new Set(params)).toEqual(
    new Set(['audio', 'modalities', 'prediction', 'stop', 'top_k', 'web_search_options']),
  );
  expect(sent).toMatchObject({ text: { verbosity: 'low' }, service_tier: 'auto' });
  for (const name of params) expect(sent).not.toHaveProperty(name!);
  expect(responses('gpt-5.5', {}, { unknown: { modalities: ['text'] } })).toMatchObject({ params: [] });
  expect(responses('gpt-4.1', {}, { unknown }).params).toContain('verbosity');
  const chat = openAi('gpt-4.1', {}, { unknown });
  expect(chat.params).toEqual(['verbosity', 'top_k']);
  expect(chat.sent).toMatchObject({ modalities: ['text', 'audio'], service_tier: 'auto' });
  expect(openAi('gpt-5', {}, { unknown }).sent).toMatchObject({ verbosity: 'low' });
});

const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
const form = { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } };
const tools = [{ name: 'f', parameters: { type: 'object', properties: { a: { type: 'string' } } } }];

verifies(
  'models.parameters',
  'a form beside tools is asked for in words where it is refused, and held to without tools',
  () => {
    for (const [given, words] of [
      [form, '"required":["n"]'],
      [{ response_format: { type: 'json_object' } }, 'JSON object'],
    ] as const) {
      for (const model of ['gemini-2.5-pro', 'gemini-2.0-flash']) {
        const { sent, json, params } = gemini(model, given, { tools });
        expect(sent).not.toHaveProperty('responseMimeType');
        expect(JSON.stringify(json['systemInstruction'])).toContain(words.replaceAll('"', '\\"'));
        expect(params).toEqual(['response_format']);
        const last = gemini(model, given);
        expect(last).toMatchObject({ sent: { responseMimeType: 'application/json' }, params: [] });
        expect(last.json).not.toHaveProperty('systemInstruction');
      }
      const newer = gemini('gemini-3-pro-preview', given, { tools });
      expect(newer).toMatchObject({ sent: { responseMimeType: 'application/json' }, params: [] });
      const request = { model: 'm', messages: [], stream: true, unknown: {}, parameters: given };
      const prompted = toPromptedRequest({ ...request, tools }, true);
      expect(prompted.request.parameters).toEqual({});
      expect(prompted.request.messages[0]!.content).toContain(words);
      expect(prompted.formInWords).toBe(true);
      expect(toPromptedRequest({ ...request, tools: [] }, true).request.parameters).toBe(given);
    }
    const both = claude('claude-opus-5', form, { tools });
    expect(both).toMatchObject({ sent: { output_config: { format: { type: 'json_schema' } } }, params: [] });
  },
);
