// DeepSeek's rules for thinking that a careless gateway would break: https://api-docs.deepseek.com/guides/thinking_mode
// Its indexes start at 1, its ids repeat in every round, and names are sent twice, as compatible servers do.
import type { JsonObject } from '#libs/schemas/json.js';
import { list } from '../../apps/gateway/models/conversation/schema-parts.js';
import { must, same, type PlannedRound, type StrictFamily } from './strict-upstream.js';

const functionsOf = ({ calls = [] }: PlannedRound) =>
  calls.map(({ name, arguments: given }) => ({ name, arguments: JSON.stringify(given) }));
const callsOf = (message: JsonObject) => list(message['tool_calls']) as (JsonObject & { function: JsonObject })[];

export const strictDeepSeek: StrictFamily = {
  check({ path, headers, body }, plan) {
    must(path === '/v1/chat/completions', `no such path: ${path}`);
    must(headers.authorization === 'Bearer key-of-deepseek', 'invalid api key');
    const messages = list(body['messages']) as JsonObject[];
    messages.forEach((message, at) => {
      if (message['role'] === 'assistant') checkResults(messages, at);
      if (message['role'] !== 'tool') return;
      must(['assistant', 'tool'].includes(messages[at - 1]?.['role'] as string), `messages[${at}]: stray tool message`);
    });
    const spoke = messages.findLastIndex((message) => message['role'] === 'user');
    const said = messages.slice(spoke).filter((message) => message['role'] === 'assistant');
    said.forEach((message, round) => {
      const planned = plan[round]!;
      const { thought = '', text = null } = planned;
      must(
        message['reasoning_content'] === thought,
        `round ${round}: the reasoning_content of a turn that called tools must be passed back`,
      );
      must(message['content'] === text, `round ${round}: content was ${JSON.stringify(text)}`);
      const called = callsOf(message).map((call) => call.function);
      must(same(called, functionsOf(planned)), `round ${round}: calls are not what they were`);
    });
    return said.length;
  },

  answer({ body }, planned, round) {
    const { thought = '', text = null } = planned;
    const calls = functionsOf(planned).map((called, at) => ({ id: `call_${at}`, type: 'function', function: called }));
    const finish_reason = calls.length > 0 ? 'tool_calls' : 'stop';
    const head = { id: `r${round}`, created: 1, model: 'deepseek-strict' };
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    const message = { role: 'assistant', content: text, reasoning_content: thought };
    const delta = (given: object, finish: string | null = null) => ({
      ...head,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: given, finish_reason: finish }],
    });
    const chunks = [
      delta({ role: 'assistant', content: null, reasoning_content: '' }),
      ...Array.from(thought, (reasoning_content) => delta({ content: null, reasoning_content })),
      ...Array.from(text ?? '', (content) => delta({ content, reasoning_content: null })),
      ...calls.flatMap(({ id, type, function: { name, arguments: given } }, at) => [
        delta({ tool_calls: [{ index: at + 1, id, type, function: { name, arguments: '' } }] }),
        ...Array.from(given, (piece) =>
          delta({ tool_calls: [{ index: at + 1, id, function: { name, arguments: piece } }] }),
        ),
      ]),
      delta({ content: '' }, finish_reason),
      { ...head, object: 'chat.completion.chunk', choices: [], usage },
    ];
    return {
      streamed: body['stream'] === true,
      whole: {
        ...head,
        object: 'chat.completion',
        choices: [{ index: 0, message: { ...message, ...(calls.length > 0 && { tool_calls: calls }) }, finish_reason }],
        usage,
      },
      frames: [...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n'],
    };
  },

  refusal: (message) => ({ error: { message, type: 'invalid_request_error', code: 'invalid_request_error' } }),
};

/** Each call must have exactly one result, in order, directly after it. */
function checkResults(messages: JsonObject[], at: number): void {
  const ids = callsOf(messages[at]!).map(({ id }) => id);
  const results = messages.slice(at + 1, at + 1 + ids.length).map((message) => message['tool_call_id']);
  must(same(results, ids), `messages[${at}]: each tool_call must be followed by its tool message`);
  must(messages[at + 1 + ids.length]?.['role'] !== 'tool', `messages[${at}]: a tool message too many`);
}
