// What the model of the tests of Chat says: by the last message of the person.
import { messagesOf } from '../scripts.js';
import type { ReceivedRequest, ScriptedAnswer } from '../scripted-upstream.js';
import { plan } from './chat-person.js';

const chunk = (delta: object, finish_reason: string | null = null) => ({
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason }],
});

const hostile = [
  '<script>window.hurt = 1</script><img src=x onerror="window.hurt = 1">',
  '',
  '![picture](http://203.0.113.1/tracker.png)',
  '',
  '[press me](javascript:window.hurt=1) \u202Etxt.exe',
].join('\n');
const rich = [
  '# Plan',
  '',
  '| name | count |',
  '| --- | --- |',
  '| eggs | 12 |',
  '',
  '```js',
  'const answer = 42;',
  '```',
].join('\n');

export interface ChatGates {
  /** The rest of the answer to "Plan it" comes after it. */
  slow: Promise<void>;
  /** The end of the long story. */
  long: Promise<void>;
  /** All that the model was asked. */
  asked: () => readonly ReceivedRequest[];
}

export function chatScript({ slow, long, asked }: ChatGates): (request: ReceivedRequest) => ScriptedAnswer {
  const call = (name: string, given: object) => ({ toolCalls: [{ name, arguments: given as never }] });

  return plan({
    'Plan it': () => ({
      chunks: [
        chunk({ role: 'assistant', reasoning_content: 'I count the eggs.' }),
        chunk({ content: rich.slice(0, 30) }),
        slow,
        chunk({ content: rich.slice(30) }, 'stop'),
        'data: [DONE]\n\n',
      ],
    }),
    'Be hostile': (_request, round) =>
      round === 0 ? call('write_file', { path: '\u202Egpj.exe', content: hostile }) : { text: hostile },
    'A long line': () => ({ text: 'x'.repeat(5_000_000) }),
    'Write it': (_request, round) =>
      round === 0 ? call('write_file', { path: 'a.txt', content: 'first' }) : { text: 'Written.' },
    'Book it': (_request, round) => (round === 0 ? call('book', {}) : { text: 'Booked.' }),
    'What is the weather?': (request, round) =>
      round === 0
        ? call('get_weather', { city: 'Paris' })
        : { text: `It is ${messagesOf(request).at(-1)!['content'] as string}.` },
    'Go on and on': () => ({ text: ['On ', 'and '], end: 'stall' }),
    'Tell a long story': (_request, round) =>
      round === 0
        ? call('write_file', { path: 'story.txt', content: 'x' })
        : {
            chunks: [
              chunk({ role: 'assistant', content: 'Once upon a time ' }),
              long,
              chunk({ content: 'there was an end.' }, 'stop'),
              'data: [DONE]\n\n',
            ],
          },
    'Fail once': (request) =>
      asked().filter((each) => messagesOf(each).at(-1)!['content'] === messagesOf(request).at(-1)!['content'])
        .length === 1
        ? { status: 500, json: { error: { message: 'no such luck' } } }
        : { text: 'Better luck.' },
  });
}
