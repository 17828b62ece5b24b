import { expect } from 'vitest';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { answered } from '../../../../test/fixtures/prompted-answers.js';
import { verifies } from '../../../../test/verifies.js';
import { maxCallChars, maxCalls } from './call-parser.js';
import { PromptedAnswer } from './read-prompted-answer.js';

const million = 1_000_000;
const pieces = (text: string, size = 4_096) =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size));
const endings = (events: ModelEvent[]) => {
  const last = events.at(-1)!;
  return last.type === 'error' ? last.error.code : last.type;
};

const hostile: Record<string, [says: string, ending: string]> = {
  '10 MB of text': ['abcdefghi '.repeat(million), 'message_end'],
  '4 MB of white space': [' \n'.repeat(2 * million), 'message_end'],
  'tag starts': ['<function_cal<tool_[TOOL_<'.repeat(30_000), 'message_end'],
  'start tags': ['<function_call>'.repeat(50_000), 'message_end'],
  'end tags': ['</function_call>'.repeat(100_000), 'message_end'],
  fences: ['```json\n'.repeat(100_000), 'message_end'],
  backticks: ['`'.repeat(million), 'message_end'],
  'a call that never ends': [`<function_call>{"name":"${'x'.repeat(10 * million)}`, 'model_bad_response'],
  'a call that is no JSON': [`<function_call>${'x'.repeat(10 * million)}`, 'model_bad_response'],
  'a bare call that never ends': [`{"name":"getTime","arguments":{"a":"${'x'.repeat(3 * million)}`, 'message_end'],
  'tags inside a string': [
    `<tool_call>{"name":"echo","arguments":{"a":"${'</tool_call>'.repeat(50_000)}"}}`,
    'message_end',
  ],
  'end tags inside a string that never ends': [
    `<tool_call>{"a":"${'</function_call>{"'.repeat(30_000)}`,
    'message_end',
  ],
  'deep JSON': [
    `<function_call>{"name":"echo","arguments":{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}}`,
    'message_end',
  ],
  'deep JSON that never closes': [`<function_call>${'['.repeat(300_000)}`, 'message_end'],
  'deep shapes': [`<function_call>${'{"function":'.repeat(100_000)}1${'}'.repeat(100_000)}`, 'message_end'],
  'trailing commas': [`<function_call>{"name":"echo","arguments":{"a":[${'[1,],'.repeat(200_000)}]}}`, 'message_end'],
  'commas that nothing repairs': [`<function_call>{"a":[${','.repeat(million)}]}`, 'message_end'],
  'many calls': ['<tool_call>{"name":"echo"}</tool_call>'.repeat(maxCalls + 1), 'model_bad_response'],
  'a list of many calls': [`[TOOL_CALLS][${'{"name":"echo"},'.repeat(50_000)}{}]`, 'model_bad_response'],
};

for (const [name, [says, ending]] of Object.entries(hostile)) {
  verifies('models.prompted.bounds', name, () => {
    let mostHeld = 0;
    const { reader, events } = answered(pieces(says), 'stop', (heard) => {
      mostHeld = Math.max(mostHeld, heard.reader.heldChars);
    });
    expect(endings(events)).toBe(ending);
    // An answer held as bare JSON is examined twice, and the text after an unclosed call several times.
    expect(reader.examined).toBeLessThan(12 * says.length + 300_000);
    expect(mostHeld).toBeLessThanOrEqual(maxCallChars + 2 * 4_096);
  });
}

verifies('models.prompted.bounds', 'others have their turn while a whole answer of 8 MB is read', async () => {
  const said = `${'<'.repeat(16_383)}😀`.repeat(500);
  const whole: ModelEvent[] = [
    { type: 'text_delta', text: said },
    { type: 'message_end', finishReason: 'stop' },
  ];
  let turns = 0;
  const others = setInterval(() => turns++, 1);
  const events: ModelEvent[] = [];
  try {
    const answer = new PromptedAnswer(new Set(['echo']), (batch) => void events.push(...batch));
    await answer.take(whole);
  } finally {
    clearInterval(others);
  }
  const texts = events.flatMap((event) => (event.type === 'text_delta' ? [event.text] : []));
  expect(texts.join('')).toBe(said);
  expect(texts.filter((text) => Buffer.from(text).toString() !== text)).toEqual([]);
  expect(turns).toBeGreaterThan(1);
});
