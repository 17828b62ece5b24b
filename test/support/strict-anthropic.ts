// Rules of Anthropic's Messages API that a careless gateway would break: https://docs.anthropic.com/en/api/messages
import { list } from '../../apps/gateway/models/conversation/schema-parts.js';
import type { Json, JsonObject } from '#libs/schemas/json.js';
import { must, same, type PlannedRound, type StrictFamily } from './strict-upstream.js';

/** The model's message in that round, with signed thinking. */
function blocksOf({ thought, text, calls = [] }: PlannedRound, round: number): JsonObject[] {
  return [
    ...(thought === undefined ? [] : [{ type: 'thinking', thinking: thought, signature: `signed-${round}` }]),
    ...(thought === undefined ? [] : [{ type: 'redacted_thinking', data: `hidden-${round}` }]),
    ...(text === undefined ? [] : [{ type: 'text', text }]),
    ...calls.map((call, at) => ({
      type: 'tool_use',
      id: `toolu_${round}_${at}`,
      name: call.name,
      input: call.arguments,
    })),
  ];
}

const withoutIds = (blocks: JsonObject[]) => blocks.map((block) => ({ ...block, id: null }));
const blocks = (message: JsonObject): JsonObject[] => {
  must(Array.isArray(message['content']), 'content must be a list of blocks');
  return message['content'] as JsonObject[];
};
const ofType = (message: JsonObject, type: string) => blocks(message).filter((block) => block['type'] === type);

export const strictAnthropic: StrictFamily = {
  check({ path, headers, body }, plan) {
    must(path === '/v1/messages', `no such path: ${path}`);
    must(headers['x-api-key'] === 'key-of-claude', 'invalid x-api-key');
    must(headers['anthropic-version'] === '2023-06-01', 'anthropic-version is required');
    must(Number(body['max_tokens']) > 0, 'max_tokens: field required');
    const messages = list(body['messages']) as JsonObject[];
    messages.forEach((message, at) => {
      must(message['role'] === (at % 2 === 0 ? 'user' : 'assistant'), `messages.${at}: roles must alternate`);
      must(blocks(message).length > 0, `messages.${at}: content is empty`);
      for (const block of ofType(message, 'text')) {
        must(
          typeof block['text'] === 'string' && block['text'].trim() !== '',
          `messages.${at}: text must be non-empty`,
        );
      }
      checkResults(message, messages[at - 1], at);
    });
    must(messages.at(-1)?.['role'] === 'user', 'the last message must be the user’s');
    const calls = messages.flatMap((message) => ofType(message, 'tool_use'));
    const declared = list(body['tools']).map((tool) => (tool as JsonObject)['name']);
    for (const { name } of calls) must(declared.includes(name), `tool ${JSON.stringify(name)} is not declared`);
    const round = checkRounds(messages, plan);
    const known = knownTools(list(body['tools']) as JsonObject[], messages);
    for (const { name } of plan[round]?.calls ?? []) must(known.has(name), `the model does not know ${name}`);
    return round;
  },

  answer({ body }, planned, round) {
    const content = blocksOf(planned, round);
    const stop_reason = planned.calls === undefined ? 'end_turn' : 'tool_use';
    const head = { id: `msg_${round}`, type: 'message', role: 'assistant', model: 'claude-strict' };
    const usage = { input_tokens: 10, output_tokens: 5 };
    return {
      streamed: body['stream'] === true,
      whole: { ...head, content, stop_reason, stop_sequence: null, usage },
      frames: [
        { type: 'message_start', message: { ...head, content: [], stop_reason: null, usage } },
        { type: 'ping' },
        ...content.flatMap(streamedBlock),
        { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 5 } },
        { type: 'message_stop' },
      ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
    };
  },

  refusal: (message) => ({ type: 'error', error: { type: 'invalid_request_error', message } }),
};

/**
 * The tools that are in the model's context: https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool
 * Deferred ones are only where a result refers to them.
 */
function knownTools(tools: JsonObject[], messages: JsonObject[]): Set<Json | undefined> {
  const isDeferred = (tool: JsonObject) => tool['defer_loading'] === true;
  must(tools.length === 0 || !tools.every(isDeferred), 'At least one tool must have defer_loading=false');
  for (const tool of tools.filter(isDeferred)) {
    must(
      tool['cache_control'] === undefined,
      `${JSON.stringify(tool['name'])}: defer_loading and cache_control are both set`,
    );
  }
  const results = messages.flatMap((message) => ofType(message, 'tool_result'));
  const referred = results
    .flatMap(({ content }) => list(content) as JsonObject[])
    .filter(({ type }) => type === 'tool_reference')
    .map(({ tool_name: name }) => name);
  for (const name of referred) {
    const isThere = tools.some((tool) => tool['name'] === name);
    must(isThere, `Tool reference ${JSON.stringify(name)} not found in available tools`);
  }
  return new Set([...tools.filter((tool) => !isDeferred(tool)).map(({ name }) => name), ...referred]);
}

/** All results of a turn's calls must come in the next message, each once, before anything else. */
function checkResults(message: JsonObject, before: JsonObject | undefined, at: number): void {
  const called = before === undefined ? [] : ofType(before, 'tool_use').map(({ id }) => id);
  const results = ofType(message, 'tool_result');
  if (message['role'] === 'assistant') return;
  must(
    same(
      results.map((result) => result['tool_use_id']),
      called,
    ),
    `messages.${at}: each tool_use must have a single tool_result in the next message, in order`,
  );
  const first = blocks(message).slice(0, results.length);
  must(same(first, results), `messages.${at}: tool_result blocks must come first`);
}

/** The rounds since the last user message must be repeated exactly. */
function checkRounds(messages: JsonObject[], plan: readonly PlannedRound[]): number {
  const spoke = messages.findLastIndex((message) => message['role'] === 'user' && ofType(message, 'text').length > 0);
  const said = messages.slice(spoke).filter((message) => message['role'] === 'assistant');
  said.forEach((message, round) => {
    const expected = blocksOf(plan[round]!, round);
    must(
      same(withoutIds(blocks(message)), withoutIds(expected)),
      `round ${round}: thinking, text and calls cannot be modified: ${JSON.stringify(blocks(message))}`,
    );
  });
  return said.length;
}

function streamedBlock(block: JsonObject, index: number): { type: string }[] {
  const start = (content_block: Json) => ({ type: 'content_block_start', index, content_block });
  const delta = (delta: Json) => ({ type: 'content_block_delta', index, delta });
  const stop = { type: 'content_block_stop', index };
  const halves = (text: Json | undefined) => {
    const whole = text as string;
    return [whole.slice(0, whole.length / 2), whole.slice(whole.length / 2)];
  };
  switch (block['type']) {
    case 'thinking': {
      const pieces = halves(block['thinking']).map((thinking) => delta({ type: 'thinking_delta', thinking }));
      const signature = delta({ type: 'signature_delta', signature: block['signature']! });
      return [start({ type: 'thinking', thinking: '', signature: '' }), ...pieces, signature, stop];
    }
    case 'text': {
      const pieces = halves(block['text']).map((text) => delta({ type: 'text_delta', text }));
      return [start({ type: 'text', text: '' }), ...pieces, stop];
    }
    case 'tool_use': {
      const pieces = halves(JSON.stringify(block['input'])).map((partial_json) =>
        delta({ type: 'input_json_delta', partial_json }),
      );
      return [start({ ...block, input: {} }), ...pieces, stop];
    }
    default:
      return [start(block), stop];
  }
}
