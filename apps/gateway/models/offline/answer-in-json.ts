// Answers in the JSON that `response_format` asks for. Takes members from the results and the request, and harmless values
// for the rest.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { askedWords } from './answer.js';
import { satisfies } from './check-arguments.js';
import { maxRequest } from './choose-tools.js';
import type { Conversation } from './conversation.js';
import { fillArguments } from './fill-arguments.js';
import { readClause } from './read-request.js';
import { factsAsked, factsIn, type Fact } from './read-result.js';
import { describeTool, propertiesOf, requiredOf, resolve, typeOf } from './tool-profile.js';
import { readWords, splitName } from './words.js';

export function structuredAnswer(
  format: Json | undefined,
  { request, before, steps }: Conversation,
  { text, now }: { text: string; now: number },
): string | undefined {
  if (!isJsonObject(format)) return undefined;
  const known = [...before, ...steps].flatMap((step) => (step.result === undefined ? [] : factsIn(step.result)));
  if (format['type'] === 'json_object') {
    const asked = factsAsked(known, askedWords(request), new Set(['file', 'content']));
    return JSON.stringify(
      asked.length === 0 ? { answer: text } : Object.fromEntries(asked.map(({ key, value }) => [key, value])),
    );
  }
  const wrapper = format['json_schema'];
  if (format['type'] !== 'json_schema' || !isJsonObject(wrapper) || !isJsonObject(wrapper['schema'])) return undefined;
  const profile = describeTool({ name: 'answer', parameters: wrapper['schema'] });
  const read = request.slice(0, maxRequest);
  const context = { clause: readClause(read), request: read, profile, earlier: undefined, index: 0, force: true, now };
  const filled = fillArguments(context).arguments;
  const value = { ...filled };
  for (const [name, own] of Object.entries(propertiesOf(profile.resolved)).slice(0, 100)) {
    const type = typeOf(resolve(own, profile.schema));
    const isAnswer =
      requiredOf(profile.resolved).includes(name) && /answer|reply|response|message|summary|reason/i.test(name);
    const member = fromFacts(name, type, known) ?? (type === 'string' && isAnswer ? text : undefined);
    if (member !== undefined) value[name] = member;
  }
  return JSON.stringify(satisfies(profile.schema, value) ? value : filled);
}

function fromFacts(name: string, type: string | undefined, known: readonly Fact[]): JsonObject[string] | undefined {
  const fact = known.find((one) => one.key === name) ?? factsAsked(known, readWords(splitName(name)), new Set())[0];
  if (fact === undefined || type === 'string') return fact?.value;
  if (type === 'boolean' && /^(?:true|false)$/.test(fact.value)) return fact.value === 'true';
  const number = fact.value.trim() === '' ? Number.NaN : Number(fact.value);
  return (type === 'number' || type === 'integer') && Number.isFinite(number) ? number : undefined;
}
