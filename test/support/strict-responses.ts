// OpenAI's rules for reasoning with tools over the Responses API that a careless gateway would break:
// https://developers.openai.com/api/docs/guides/reasoning. Nothing is stored, so every item must come back as it was.
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import { list } from '../../apps/gateway/models/conversation/schema-parts.js';
import { must, same, type PlannedRound, type StrictFamily } from './strict-upstream.js';

/** What a request tells the model of tools. */
interface Known {
  /** The client's tool search stands for the function `find_tools`. */
  searches: boolean;
  listed: ReadonlySet<string>;
  /** By results of searches. Each of them is in the namespace of its name. */
  loaded: ReadonlySet<string>;
}

/** The items of a round, as they are sent and must come back. */
function itemsOf({ thought, text, calls = [] }: PlannedRound, round: number, known: Known): JsonObject[] {
  const reasoning = {
    id: `rs_${round}`,
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: thought ?? '' }],
    encrypted_content: `sealed ${round}`,
  };
  const content = [{ type: 'output_text', text: text ?? '', annotations: [] }];
  const phase = calls.length > 0 ? 'commentary' : 'final_answer';
  const message = { id: `msg_${round}`, type: 'message', role: 'assistant', status: 'completed', phase, content };
  return [
    ...(thought === undefined ? [] : [reasoning]),
    ...(text === undefined ? [] : [message]),
    ...calls.map(({ name, arguments: given }, at): JsonObject => {
      const call_id = `call_${round}_${at}_theirs`;
      const status = 'completed';
      if (known.searches && name === 'find_tools') {
        const id = `tsc_${round}_${at}`;
        return { id, type: 'tool_search_call', execution: 'client', status, call_id, arguments: given };
      }
      const called = { id: `fc_${round}_${at}`, type: 'function_call', status, call_id, name };
      const isLoaded = known.loaded.has(name);
      return { ...called, ...(isLoaded && { namespace: name }), arguments: JSON.stringify(given) };
    }),
  ];
}

/** https://developers.openai.com/api/docs/guides/tools-tool-search */
function knownTools(body: JsonObject): Known {
  const listed = new Set<string>();
  let searches = false;
  for (const tool of list(body['tools']) as JsonObject[]) {
    if (tool['type'] === 'tool_search') {
      must(!searches && tool['execution'] === 'client', 'one search of the client');
      must(isJsonObject(tool['parameters']) && typeof tool['description'] === 'string', 'the search has no schema');
      searches = true;
    } else listed.add(functionName(tool));
  }
  const loaded = new Set<string>();
  for (const item of list(body['input']) as JsonObject[]) {
    if (item['type'] !== 'tool_search_output') continue;
    must(item['execution'] === 'client' && item['status'] === 'completed', 'the output of a search of the client');
    for (const tool of list(item['tools']) as JsonObject[]) {
      const name = functionName(tool);
      must(tool['defer_loading'] === true, `${name} is not deferred`);
      must(!listed.has(name) && !loaded.has(name), `Duplicate tool name '${name}'`);
      loaded.add(name);
    }
  }
  return { searches, listed, loaded };
}

function functionName({ type, name, strict }: JsonObject): string {
  must(type === 'function' && typeof name === 'string', "Missing required parameter: 'tools[0].name'");
  must(typeof strict === 'boolean', 'strict is true unless it is said');
  return name;
}

const sorted = (item: JsonObject) =>
  Object.fromEntries(Object.entries(item).sort(([left], [right]) => (left < right ? -1 : 1)));

export const strictResponses: StrictFamily = {
  check({ path, headers, body }, plan) {
    must(path === '/v1/responses', `no such path: ${path}`);
    must(headers.authorization === 'Bearer key-of-openai', 'invalid api key');
    must(body['store'] === false, 'store must be false');
    must(list(body['include']).includes('reasoning.encrypted_content'), 'reasoning must be included');
    const known = knownTools(body);
    const input = list(body['input']) as JsonObject[];
    must(input[0]?.['role'] === 'user', 'the question comes first');
    let at = 1;
    let round = 0;
    for (; at < input.length; round += 1) {
      const items = itemsOf(plan[round]!, round, known);
      for (const item of items) {
        const given = input[at++];
        must(
          given !== undefined && same(sorted(given), sorted(item)),
          `round ${round}: ${JSON.stringify(given)} was changed`,
        );
      }
      for (const { type: called, call_id: id } of items.filter(({ call_id: id }) => id !== undefined)) {
        const { type, call_id, output } = input[at++] ?? {};
        if (called === 'tool_search_call') {
          must(type === 'tool_search_output' && call_id === id, `No output of the search ${JSON.stringify(id)}`);
          continue;
        }
        must(
          type === 'function_call_output' && call_id === id,
          `No tool output found for function call ${JSON.stringify(id)}`,
        );
        must(typeof output === 'string' && output !== '', `the output of ${JSON.stringify(id)} must be text`);
      }
    }
    for (const { name } of plan[round]?.calls ?? []) {
      const isKnown = known.listed.has(name) || known.loaded.has(name) || (known.searches && name === 'find_tools');
      must(isKnown, `the model does not know ${name}`);
    }
    return round;
  },

  answer({ body }, planned, round) {
    const output = itemsOf(planned, round, knownTools(body));
    const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
    const response = { id: `resp_${round}`, object: 'response', model: 'gpt-5.5-strict', error: null };
    const complete = { ...response, status: 'completed', incomplete_details: null, output, usage };
    const events = [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
      ...output.flatMap((item, output_index) => eventsOf(item, output_index)),
      { type: 'response.completed', response: complete },
    ];
    return {
      streamed: body['stream'] === true,
      whole: complete,
      frames: events.map(
        (event, sequence_number) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`,
      ),
    };
  },

  refusal: (message) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
};

const pieces = {
  reasoning: { type: 'response.reasoning_summary_text.delta', summary_index: 0 },
  message: { type: 'response.output_text.delta', content_index: 0 },
  function_call: { type: 'response.function_call_arguments.delta' },
  // The arguments of a search are an object, which comes whole.
  tool_search_call: undefined,
};

function eventsOf(item: JsonObject, output_index: number): ({ type: string } & JsonObject)[] {
  const type = item['type'] as keyof typeof pieces;
  const [part] = (list(item['summary'] ?? item['content']) as JsonObject[]).map(({ text }) => text as string);
  const deltas = pieces[type] === undefined ? [] : Array.from(part ?? (item['arguments'] as string));
  const place = { item_id: item['id']!, output_index };
  const begun: Record<keyof typeof pieces, JsonObject> = {
    reasoning: { summary: [] },
    message: { content: [] },
    function_call: { arguments: '' },
    tool_search_call: { arguments: {} },
  };
  return [
    { type: 'response.output_item.added', output_index, item: { ...item, ...begun[type] } },
    ...deltas.map((delta) => ({ ...pieces[type]!, ...place, delta })),
    { type: 'response.output_item.done', output_index, item },
  ];
}
