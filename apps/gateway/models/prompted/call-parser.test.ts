import fc from 'fast-check';
import { expect } from 'vitest';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { oneByOne } from '../../../../test/support/one-by-one.js';
import { type CollectedAnswer, foldEvents } from '../../../../test/support/collect-model-events.js';
import { verifies } from '../../../../test/verifies.js';
import type { TakeModelEvents } from '../model-provider.js';
import { PromptedAnswer } from './read-prompted-answer.js';
import { answered, cutAt, hear, type Heard } from '../../../../test/fixtures/prompted-answers.js';

const time = '{"name": "getTime", "arguments": {"offset_ms": -86400000}}';
const call = { name: 'getTime', arguments: '{"offset_ms": -86400000}' };
const other = { name: 'echo', arguments: '{"text":"x"}' };
const otherJson = '{"name":"echo","arguments":{"text":"x"}}';
const tagged = `<function_call>\n${time}\n</function_call>`;

interface Case {
  says: string;
  text?: string;
  calls: (typeof call)[];
}

const dialects: Record<string, Case> = {
  'our form': { says: tagged, calls: [call] },
  'text before, between and behind': {
    says: `Let me look.\n\n${tagged}\n\nAnd then\n${tagged}\nDone.`,
    text: 'Let me look.\n\nAnd then\nDone.',
    calls: [call, call],
  },
  'two calls': { says: `${tagged}\n${tagged}`, calls: [call, call] },
  Hermes: { says: `<tool_call>\n${time}\n</tool_call>\n<tool_call>${otherJson}</tool_call>`, calls: [call, other] },
  'Llama, tag': {
    says: '<|python_tag|>{"name": "getTime", "parameters": {"offset_ms": -86400000}}<|eom_id|>',
    calls: [call],
  },
  'Llama, tag, several': { says: `<|python_tag|>${time}; ${otherJson}`, calls: [call, other] },
  'Llama, bare': { says: ' {"name": "getTime", "parameters": {"offset_ms": -86400000}}\n', calls: [call] },
  'Llama, bare, with its type': {
    says: '{"type": "function", "name": "getTime", "parameters": {"offset_ms": -86400000}}',
    calls: [call],
  },
  'bare list': { says: `[${time}, ${otherJson}]`, calls: [call, other] },
  'bare, fenced': { says: `\`\`\`json\n${time}\n\`\`\``, calls: [call] },
  Mistral: { says: `[TOOL_CALLS][${time}, ${otherJson}]`, calls: [call, other] },
  'Mistral, later': { says: '[TOOL_CALLS]getTime[ARGS]{"offset_ms": -86400000}', calls: [call] },
  'Mistral, later, several': {
    says: 'So: [TOOL_CALLS]getTime{"offset_ms": -86400000}[TOOL_CALLS]echo[ARGS]{"text":"x"}\n',
    text: 'So:',
    calls: [call, other],
  },
  "OpenAI's shape": {
    says: `<tool_call>{"type":"function","function":{"name":"echo","arguments":"{\\"text\\":\\"x\\"}"}}</tool_call>`,
    calls: [other],
  },
  'nested JSON': {
    says: '<function_call>{"name":"echo","arguments":{"a":{"b":[{"c":"}"}]}}}</function_call>',
    calls: [{ name: 'echo', arguments: '{"a":{"b":[{"c":"}"}]}}' }],
  },
  'an end tag in a string': {
    says: '<function_call>{"name":"echo","arguments":{"text":"</function_call> \\" <tool_call>"}}</function_call>.',
    text: '.',
    calls: [{ name: 'echo', arguments: '{"text":"</function_call> \\" <tool_call>"}' }],
  },
  'no end tag': { says: `Now: <function_call>${time}`, text: 'Now:', calls: [call] },
  'no end tag, then another': { says: `<function_call>${time}\n<function_call>${otherJson}`, calls: [call, other] },
  'no end tag, then text': { says: `<function_call>${time}\nI called it.`, text: 'I called it.', calls: [call] },
  'another end tag': { says: `<function_call>${time}</tool_call>`, calls: [call] },
  'one end tag too many': { says: `${tagged}</function_call> ok`, text: 'ok', calls: [call] },
  'a fence inside': { says: `<function_call>\n\`\`\`json\n${time}\n\`\`\`\n</function_call>`, calls: [call] },
  'a fence around': { says: `I call:\n\`\`\`xml\n${tagged}\n\`\`\`\nso`, text: 'I call:\nso', calls: [call] },
  'trailing commas': {
    says: '<function_call>{"name":"echo","arguments":{"list":[1,2,],"s":",}",},}</function_call>',
    calls: [{ name: 'echo', arguments: '{"list":[1,2],"s":",}"}' }],
  },
  'line breaks in a string': {
    says: '<function_call>{"name":"echo","arguments":{"text":"a\n\tb"}}</function_call>',
    calls: [{ name: 'echo', arguments: '{"text":"a\\n\\tb"}' }],
  },
  'no arguments': {
    says: '<function_call>{"name":"echo"}</function_call>',
    calls: [{ name: 'echo', arguments: '{}' }],
  },
  'numbers as they are written': {
    says: '<function_call>{"name":"echo","arguments":{"n":[9007199254740993, 1e400, -0]}}</function_call>',
    calls: [{ name: 'echo', arguments: '{"n":[9007199254740993, 1e400, -0]}' }],
  },
  'a name that nobody offered': {
    says: '<function_call>{"name":"nobody","arguments":{}}</function_call>',
    calls: [{ name: 'nobody', arguments: '{}' }],
  },
  'made-up results': {
    says: `${tagged}\n<function_result>\nnoon\n</function_result>\nIt is noon. ${tagged}`,
    calls: [call],
  },
  'two starts': { says: `<function_call><function_call>${time}</function_call></function_call>`, calls: [call] },
};

/** Text that resembles a call. */
const texts = [
  '',
  'a < b and <table> and <function_cal and [TOOL_CALL] and `code`',
  '```ts\nconst a = [1, 2];\n```\n',
  '{"answer": 42}',
  '{"name": "Ann", "arguments": {}}',
  '{"name": "getTime"}',
  '{"name": "getTime", "arguments": {}, "age": 3}',
  `${time} is what I would send`,
  '{"type": "object", "properties": {}}',
  '[1, 2, 3]',
  '[]',
  '  \n',
  'caf\u00e9 \u{1f600} 你好',
];

const whole = (heard: Heard): Omit<CollectedAnswer, 'model'> => {
  const { model: _, ...answer } = foldEvents(heard.events);
  return { ...answer, calls: answer.calls.map((each) => ({ ...each, id: '' })) };
};

for (const [name, { says, text = '', calls }] of Object.entries(dialects)) {
  verifies('models.prompted.dialects', name, () => {
    const heard = answered([says]);
    const folded = foldEvents(heard.events);
    expect(folded).toMatchObject({ text, finish: 'tool_calls' });
    const ids = folded.calls.map(({ id }) => id);
    expect(folded.calls).toEqual(calls.map((each, at) => ({ ...each, id: ids[at] })));
    expect(new Set(ids).size).toBe(calls.length);
    for (const id of ids) expect(id).toMatch(/^call_\w{32}$/);
  });
}

verifies('models.prompted.cuts', 'every dialect and every text, at every place', () => {
  const all = [...Object.values(dialects).map(({ says }) => says), ...texts];
  for (const says of all) {
    const expected = whole(answered([says]));
    for (let at = 0; at <= says.length; at += 1) {
      expect(whole(answered([says.slice(0, at), says.slice(at)]))).toEqual(expected);
    }
    expect(whole(answered(says.split('')))).toEqual(expected);
  }
});

verifies('models.prompted.text', 'what is no call is left as it is', () => {
  for (const says of texts)
    expect(foldEvents(answered(says.split('')).events)).toMatchObject({ text: says, finish: 'stop' });
});

/** What may be held back: white space, then a fence, then the start of a tag. */
const mayBeHeld = /^\s*(?:`{1,2}|```\w*\s*)?(?:<[\w/|]{0,16}|\[[A-Z_]{0,10})?$/;

verifies('models.prompted.text', 'it streams: only what may still become a tag is held', () => {
  const piece = fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.constantFrom('<', '<function', '[TOOL', '```js\n', ' ', '\n', '<b>', '[1]', 'word '),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      let said = 'x';
      hear(['x', ...pieces], (heard, piece, at) => {
        if (at > 0) said += piece;
        const out = heard.text;
        expect(said.startsWith(out)).toBe(true);
        expect(said.slice(out.length)).toMatch(mayBeHeld);
      });
      expect(answered(['x', ...pieces, '.']).text).toBe(`${said}.`);
    }),
    { numRuns: 500 },
  );
});

const anyText = fc.oneof(
  fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', 'a', ' ', '\n', '`', '<', '>') }),
  fc.constantFrom(...Object.values(dialects).map(({ says }) => says), ...texts.slice(2)),
  fc.constantFrom(
    '<function_call>',
    '</function_call>',
    '<tool_call>',
    '</tool_call>',
    '<function_result>',
    '<|python_tag|>',
    '[TOOL_CALLS]',
    '```json\n',
    otherJson,
    '"',
    '{',
  ),
);
const tagPiece = /<\/?function_c|<\/?tool_ca|<\|python|\[TOOL_C|<\/?function_r/;

verifies('models.prompted.cuts', 'anything, wherever it is cut: lawful events, no piece of a tag', () => {
  fc.assert(
    fc.property(
      fc.array(anyText, { maxLength: 8 }).map((parts) => parts.join('')),
      fc.array(fc.nat(400), { maxLength: 12 }),
      fc.constantFrom('stop', 'length'),
      (says, cuts, finish) => {
        const expected = whole(answered([says], finish));
        expect(whole(answered(cutAt(says, cuts), finish))).toEqual(expected);
        expect(expected.text).not.toMatch(tagPiece);
        expect(['stop', 'length', 'tool_calls']).toContain(expected.finish);
        for (const { arguments: text, broken } of expected.calls) {
          if (broken === undefined) expect(JSON.parse(text)).toBeTypeOf('object');
        }
      },
    ),
    { numRuns: 1_000 },
  );
});

verifies('models.prompted.cuts', 'an answer that ends within a tag', () => {
  for (const finish of ['stop', 'length'] as const) {
    for (const piece of ['<function_c', '</function_call', '<tool_call', '<|python_tag', '[TOOL_CALLS']) {
      expect(answered([`so ${piece}`], finish).text).toBe('so ');
    }
    expect(answered(['a <'], finish).text).toBe('a <');
  }
});

verifies('models.prompted.cuts', 'a message that begins again is read anew', async () => {
  const start = { type: 'message_start' as const, model: 'm', responseId: '' };
  const saying = (text: string) => ({ type: 'text_delta' as const, text });
  const restarted = async (take: TakeModelEvents) => {
    await take([start, saying('<function_call>{"na'), start]);
    await take([saying(`x ${tagged}`), { type: 'message_end', finishReason: 'stop' }]);
  };
  const events: ModelEvent[] = [];
  for await (const event of oneByOne((take) => restarted(new PromptedAnswer(new Set(['getTime']), take).take)))
    events.push(event);
  expect(foldEvents(events.slice(1))).toMatchObject({ text: 'x', calls: [call], finish: 'tool_calls' });
});

verifies('models.prompted.broken', 'a call that cannot be read is one with a parse error', () => {
  const broken = (says: string) => {
    const ends = answered(says.split('')).events.filter((event: ModelEvent) => event.type === 'tool_call_end');
    return ends.map(({ name, parseError }) => [name, parseError ?? '']);
  };
  expect(broken('<function_call>{"name": "echo", "arguments": {"a": }}</function_call> x')).toEqual([
    ['echo', 'The call is not valid JSON'],
  ]);
  expect(broken('<function_call>{"name":"echo","arguments":{"a":1}</function_call><tool_call>hi</tool_call>')).toEqual([
    ['echo', 'The call is not valid JSON'],
    ['unreadable_call', 'The call is not valid JSON'],
  ]);
  expect(broken('<function_call>{"name":"echo","arguments":[1]}</function_call>')).toEqual([
    ['echo', 'The arguments are not a JSON object'],
  ]);
  expect(broken('<function_call>{"arguments":{}}</function_call>')).toEqual([
    ['unreadable_call', 'The call has no "name"'],
  ]);
  const commas = (count: number) => `<tool_call>{"name":"echo","arguments":{"a":[${'[1,],'.repeat(count)}2]}}`;
  expect(broken(commas(1_000))).toEqual([['echo', '']]);
  expect(broken(commas(1_001))).toEqual([['echo', 'The call is not valid JSON']]);
  // An unclosed quote does not hide the calls after it.
  expect(broken(`<function_call>{"name":"echo","arguments":{"a":"x}}</function_call> so ${tagged}`)).toEqual([
    ['echo', 'The call is not valid JSON'],
    ['getTime', ''],
  ]);
});

verifies('models.prompted.cut-call', 'a call that max_tokens cut never ends', () => {
  for (const says of [
    `<function_call>${time}`,
    `<function_call>{"name": "getT`,
    time,
    time.slice(0, 40),
    `x ${tagged.slice(0, -3)}`,
  ]) {
    const { text, ...rest } = foldEvents(answered([says], 'length').events);
    expect(rest).toMatchObject({ calls: [], finish: 'length' });
    expect(text).toBe(says.startsWith('x') ? 'x' : '');
  }
  expect(foldEvents(answered([`${tagged}<function_call>{`], 'length').events)).toMatchObject({
    calls: [call],
    finish: 'length',
  });
});
