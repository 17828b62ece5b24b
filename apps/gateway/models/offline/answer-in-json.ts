// Answers in the JSON that `response_format` asks for. Takes members from the results and the request, and harmless values
// for the rest.
import { isJsonObject, type Json } from '#libs/schemas/json.js';
import { askedWords } from './answer.js';
import { mostRead } from './choose-calls.js';
import type { Conversation } from './conversation.js';
import { describeTool, propertiesOf, requiredOf, resolve, satisfies, typeOf } from './describe-tool.js';
import { fillArguments } from './fill-arguments.js';
import { readClause } from './read-request.js';
import { factsAsked, factsIn, type Fact } from './read-result.js';
import { readWords, splitName } from './words.js';

export function answerInJson(
  format: Json | undefined,
  { request, before, steps }: Conversation,
  { text, now }: { text: string; now: number },
): string | undefined {
  if (!isJsonObject(format)) return undefined;
  const facts = [...before, ...steps].flatMap((step) => (step.result === undefined ? [] : factsIn(step.result)));
  if (format['type'] === 'json_object') {
    const asked = factsAsked(facts, askedWords(request), new Set(['file', 'content', 'text']));
    return JSON.stringify(
      asked.length === 0 ? { answer: text } : Object.fromEntries(asked.map(({ key, value }) => [key, value])),
    );
  }
  const wrapper = format['json_schema'];
  if (format['type'] !== 'json_schema' || !isJsonObject(wrapper) || !isJsonObject(wrapper['schema'])) return undefined;
  const profile = describeTool({ name: 'answer', parameters: wrapper['schema'] });
  const read = request.slice(0, mostRead);
  const filled = fillArguments({ profile, clause: readClause(read, now), request: read, force: true }).arguments;
  const value = { ...filled };
  const required = requiredOf(profile.resolved);
  for (const [name, own] of Object.entries(propertiesOf(profile.resolved)).slice(0, 100)) {
    const type = typeOf(resolve(own, profile.schema));
    const isAnswer = required.includes(name) && /answer|reply|response|message|summary|reason/i.test(name);
    const member = fromFacts(name, type, facts) ?? (type === 'string' && isAnswer ? text : undefined);
    if (member !== undefined) value[name] = member;
  }
  return JSON.stringify(satisfies(profile.schema, value) ? value : filled);
}

function fromFacts(name: string, type: string | undefined, facts: readonly Fact[]): Json | undefined {
  const value = (facts.find((one) => one.key === name) ?? factsAsked(facts, readWords(splitName(name)))[0])?.value;
  if (value === undefined || type === 'string') return value;
  if (type === 'boolean') return value === 'true';
  return (type === 'number' || type === 'integer') && value.trim() !== '' ? Number(value) : undefined;
}
