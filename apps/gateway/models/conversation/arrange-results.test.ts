import { expect, test } from 'vitest';
import type { AssistantMessage, ChatMessage, ToolMessage } from '#libs/schemas/message.js';
import { verifies } from '../../../../test/verifies.js';
import { arrangeResults } from './arrange-results.js';

const user = (content: string): ChatMessage => ({ role: 'user', content });
const calls = (...ids: string[]): AssistantMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
});
const result = (id: string, content = id): ToolMessage => ({ role: 'tool', tool_call_id: id, content });

verifies('models.families.result-order', 'spread over user messages, in another order, given twice', () => {
  const round = calls('a', 'b');
  const arranged = [user('x'), round, result('a'), result('b'), user('y'), user('z')];
  const orders: ChatMessage[][] = [
    [user('x'), round, result('a'), user('y'), result('b'), user('z')],
    [user('x'), round, user('y'), result('b'), result('a'), user('z')],
    [user('x'), round, result('b'), result('a'), user('y'), user('z')],
    [user('x'), round, result('a', 'old'), result('b'), user('y'), result('a'), user('z')],
  ];
  for (const order of orders) expect(arrangeResults(order)).toEqual(arranged);
});

verifies('models.families.result-order', 'calls over two assistant messages are one round', () => {
  const [first, second] = [calls('a'), calls('b')];
  expect(arrangeResults([first, second, result('b'), user('x'), result('a')])).toEqual([
    first,
    second,
    result('a'),
    result('b'),
    user('x'),
  ]);
  const text: ChatMessage = { role: 'assistant', content: 'so' };
  expect(arrangeResults([first, text, second, result('b'), result('a')])).toEqual([
    first,
    second,
    result('a'),
    result('b'),
    text,
  ]);
  expect(arrangeResults([user('x'), result('a'), first, text])).toEqual([user('x'), result('a'), first, text]);
  // With a user message between them they are two.
  expect(arrangeResults([first, user('x'), second, result('a'), result('b')])).toEqual([
    first,
    result('a'),
    user('x'),
    second,
    result('b'),
  ]);
});

test('a history in order is the same object, and nothing is invented or lost', () => {
  const inOrder = [user('x'), calls('a', 'b'), result('a'), result('b'), calls('c'), result('c'), user('y')];
  expect(arrangeResults(inOrder)).toBe(inOrder);
  const unanswered = [calls('a', 'b', 'c'), result('a'), result('c'), user('x'), calls('d')];
  expect(arrangeResults(unanswered)).toBe(unanswered);
  // Ids that are used again stay with their own round.
  const again = [calls('a'), result('a', '1'), user('x'), calls('a'), result('a', '2')];
  expect(arrangeResults(again)).toBe(again);
  expect(arrangeResults([calls('a'), user('x'), result('a', '1'), calls('a'), user('y'), result('a', '2')])).toEqual([
    calls('a'),
    result('a', '1'),
    user('x'),
    calls('a'),
    result('a', '2'),
    user('y'),
  ]);
  const stray = [result('nobody'), user('x')];
  expect(arrangeResults(stray)).toEqual(stray);
});
