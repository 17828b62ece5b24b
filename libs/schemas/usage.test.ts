import { expect } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { addUsage } from './usage.js';

verifies('schemas.usage-sums', 'nested details and strangers', () => {
  const sum = addUsage(
    {
      prompt_tokens: 1,
      completion_tokens: 2,
      total_tokens: 3,
      prompt_tokens_details: { cached_tokens: 1 },
      cost: null,
    },
    {
      prompt_tokens: 10,
      completion_tokens: 20,
      total_tokens: 30,
      prompt_tokens_details: { cached_tokens: 5 },
      cost: 2,
    },
  );
  expect(sum).toEqual({
    prompt_tokens: 11,
    completion_tokens: 22,
    total_tokens: 33,
    prompt_tokens_details: { cached_tokens: 6 },
    cost: 2,
  });
});
