import { expect } from 'vitest';
import { verifies } from '../../../../../test/verifies.js';
import { servedModel, takesPictures } from './known-servers.js';

const at = (base_url: string | undefined, model = 'm', more: { call_ids?: 'alphanumeric9'; provider?: string } = {}) =>
  servedModel(
    { ...(base_url !== undefined && { base_url }), call_ids: more.call_ids ?? 'minted' },
    more.provider ?? 'up',
    model,
  );

verifies('models.openai.known-servers', 'OpenAI and Azure by their addresses, nothing that looks like them', () => {
  for (const address of [
    undefined,
    'https://api.openai.com/v1',
    'https://eu.api.openai.com/v1',
    'https://mine.openai.azure.com/openai/v1',
    'https://mine.services.ai.azure.com/openai/v1',
  ]) {
    expect(at(address), address).toMatchObject({ takesDeveloper: true, limit: undefined, isStrict: false });
  }
  for (const address of [
    'http://127.0.0.1:11434/v1',
    'https://openai.com.example.org/v1',
    'https://notopenai.com/v1',
    'https://api.deepseek.com/v1',
  ]) {
    expect(at(address), address).toMatchObject({ takesDeveloper: false, limit: 'max_tokens' });
  }
});

verifies('models.openai.known-servers', 'the limit has the name that the model takes', () => {
  expect(at('http://127.0.0.1:1/v1', 'gpt-5.2').limit).toBe('max_completion_tokens');
  expect(at(undefined, 'o3-mini').limit).toBe('max_completion_tokens');
  expect(at(undefined, 'gpt-4o').limit).toBeUndefined();
  expect(at('http://127.0.0.1:1/v1', 'gpt-oss-120b').limit).toBe('max_tokens');
});

verifies('models.openai.known-servers', 'Mistral by address, setting, model and name', () => {
  expect(at('https://api.mistral.ai/v1')).toMatchObject({ isStrict: true, answersResults: true });
  expect(at('http://127.0.0.1:1/v1', 'm', { call_ids: 'alphanumeric9' })).toMatchObject({
    isStrict: true,
    answersResults: true,
  });
  // Another server of their models has their templates, not their API.
  for (const model of ['mistral-large-latest', 'mistralai/Devstral-Small-2', 'open-mixtral-8x7b', 'ministral-8b']) {
    expect(at('http://127.0.0.1:1/v1', model), model).toMatchObject({ isStrict: false, answersResults: true });
  }
  expect(at('http://127.0.0.1:1/v1', 'm', { provider: 'mistral' }).answersResults).toBe(true);
  expect(at('http://127.0.0.1:1/v1', 'qwen3').answersResults).toBe(false);
});

const words = (text: string) => text.trim().split(/\s+/);
const seeing = words(`
  gpt-4o gpt-4.1 gpt-4-turbo gpt-5.2 o3 o4-mini claude-opus-5 gemini-3-pro m qwen2.5vl:7b qwen3-vl-8b
  qwen3.5-plus llama-3.2-11b-vision-instruct llama-4-scout llava:13b kimi-k2.5 glm-4.5v
  phi-4-multimodal-instruct gemma3:27b gemma-3-12b-it mistral-large-2512 pixtral-12b deepseek-vl2
  deepseek-ocr grok-4 granite3.2-vision command-a-vision
`);
const blind = words(`
  deepseek-chat deepseek-reasoner deepseek/deepseek-r1 gpt-3.5-turbo gpt-4 gpt-4-0613 gpt-oss:20b
  o1-mini o3-mini llama3.2 llama-3.3-70b-versatile meta-llama/Llama-3.1-8B qwq qwen3:8b qwen2.5-coder
  Qwen/Qwen3-235B kimi-k2-instruct glm-4.6 minimax-m2 mixtral-8x7b codestral-latest open-mistral-nemo
  mistral-large-2411 phi4 gemma2:9b gemma3:1b grok-3 codellama:7b
  accounts/fireworks/models/deepseek-v3p1 command-r-plus
`);

verifies(
  'models.tool-results',
  'pictures are for all models but those known as text-only, and as the setting says',
  () => {
    for (const model of seeing) expect(takesPictures({}, model), model).toBe(true);
    for (const model of blind) expect(takesPictures({}, model), model).toBe(false);
    expect(takesPictures({ images: true }, 'deepseek-chat')).toBe(true);
    expect(takesPictures({ images: false }, 'gpt-4o')).toBe(false);
  },
);
