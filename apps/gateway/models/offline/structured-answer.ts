// An answer in the JSON that `response_format` asks for: members of the results and of the request where they are said,
// harmless values where they are not.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { satisfies } from './check-arguments.js';
import { askedWords } from './compose-answer.js';
import { describeTool, propertiesOf, requiredOf, resolve, typeOf } from './describe-tool.js';
import { fillArguments } from './fill-arguments.js';
import { readClause } from './read-clause.js';
import type { Conversation } from './read-conversation.js';
import { factsAsked, factsIn, type Fact } from './read-result.js';
import { readWords, splitName } from './words.js';

export function structuredAnswer(
  format: Json | undefined,
  conversation: Conversation,
  context: { text: string; now: number },
): string | undefined {
  if (!isJsonObject(format)) return undefined;
  if (format['type'] === 'json_object') return JSON.stringify(facts(conversation) ?? { answer: context.text });
  const wrapper = format['json_schema'];
  if (format['type'] !== 'json_schema' || !isJsonObject(wrapper) || !isJsonObject(wrapper['schema'])) return undefined;
  const schema = wrapper['schema'];
  const profile = describeTool({
    name: typeof wrapper['name'] === 'string' ? wrapper['name'] : 'answer',
    parameters: schema,
  });
  const request = conversation.request.slice(0, 20_000);
  const filled = fillArguments({
    clause: readClause(request),
    request,
    profile,
    turn: 0,
    force: true,
    now: context.now,
  });
  const known = [...conversation.before, ...conversation.steps].flatMap((step) =>
    step.result === undefined ? [] : factsIn(step.result),
  );
  const value = { ...filled.arguments, ...fromFacts(resolve(schema, schema), known, schema, context.text) };
  return JSON.stringify(satisfies(schema, value) ? value : filled.arguments);
}

function facts({ steps, request }: Conversation): JsonObject | undefined {
  const known = steps.flatMap((step) => (step.result === undefined ? [] : factsIn(step.result)));
  const asked = factsAsked(known, askedWords(request), new Set(['file', 'content']));
  return asked.length === 0 ? undefined : Object.fromEntries(asked.map((fact) => [fact.key, fact.value]));
}

function fromFacts(schema: JsonObject, known: readonly Fact[], root: JsonObject, text: string): JsonObject {
  const value: JsonObject = {};
  for (const [name, own] of Object.entries(propertiesOf(schema)).slice(0, 100)) {
    const type = typeOf(resolve(own, root));
    const fact = known.find((one) => one.key === name) ?? factsAsked(known, readWords(splitName(name)), new Set())[0];
    if (fact !== undefined) {
      const number = Number(fact.value);
      if (type === 'string') value[name] = fact.value;
      else if ((type === 'number' || type === 'integer') && fact.value.trim() !== '' && Number.isFinite(number))
        value[name] = number;
      else if (type === 'boolean' && /^(?:true|false)$/.test(fact.value)) value[name] = fact.value === 'true';
    } else if (
      type === 'string' &&
      requiredOf(schema).includes(name) &&
      /answer|reply|response|message|summary|explanation|reason/i.test(name)
    )
      value[name] = text;
  }
  return value;
}
