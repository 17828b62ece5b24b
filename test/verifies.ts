// A test that proves a requirement: `verifies('chat.stream.one-finish-reason', 'across rounds', async () => { … })`.
import { test } from 'vitest';
import { requirements, type RequirementId } from './requirements.js';

export function verifies(
  id: RequirementId,
  example: string,
  body: () => void | Promise<void>,
  timeoutMs?: number,
): void {
  test(`${id}: ${requirements[id]} (${example})`, body, timeoutMs);
}
