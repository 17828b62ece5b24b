// Rules of Gemini's generateContent that a careless gateway would break: https://ai.google.dev/api/generate-content and
// https://ai.google.dev/gemini-api/docs/thought-signatures
import { list } from '../../apps/gateway/models/conversation/schema-parts.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import { checkJsonSchema } from './strict-tools.js';
import { must, same, type PlannedRound, type StrictFamily } from './strict-upstream.js';

/** The model's message in that round; only the first of several calls is signed. */
function partsOf({ thought, text, calls = [] }: PlannedRound, round: number): JsonObject[] {
  return [
    ...(thought === undefined ? [] : [{ text: thought, thought: true }]),
    ...(text === undefined ? [] : [{ text }]),
    ...calls.map((call, at) => ({
      functionCall: { name: call.name, args: call.arguments },
      ...(at === 0 && { thoughtSignature: `signed-${round}` }),
    })),
  ];
}

const parts = (content: JsonObject) => list(content['parts']) as JsonObject[];
const having = (content: JsonObject | undefined, member: string) =>
  content === undefined ? [] : parts(content).filter((part) => part[member] !== undefined);
export const strictGemini: StrictFamily = {
  check({ path, headers, body }, plan) {
    must(/^\/v1beta\/models\/gemini-3-strict:(generateContent|streamGenerateContent\?alt=sse)$/.test(path), path);
    must(headers['x-goog-api-key'] === 'key-of-gemini', 'API key not valid');
    for (const tool of list(body['tools'])) {
      for (const declaration of list((tool as JsonObject)['functionDeclarations'])) {
        const { name, parametersJsonSchema: schema } = declaration as JsonObject;
        must(typeof name === 'string' && /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(name), 'a name is invalid');
        if (schema !== undefined) checkJsonSchema(schema, name);
      }
    }
    const contents = list(body['contents']) as JsonObject[];
    contents.forEach((content, at) => {
      must(content['role'] === (at % 2 === 0 ? 'user' : 'model'), `contents[${at}]: roles must alternate`);
      must(parts(content).length > 0, `contents[${at}].parts is empty`);
      checkResponses(content, contents[at - 1], at);
    });
    const spoke = contents.findLastIndex((content) => content['role'] === 'user' && having(content, 'text').length > 0);
    const said = contents.slice(spoke).filter((content) => content['role'] === 'model');
    said.forEach((content, round) => {
      const expected = partsOf(plan[round]!, round).filter((part) => part['thought'] !== true);
      must(same(parts(content), expected), `round ${round}: a part or its thought_signature is not what it was`);
    });
    return said.length;
  },

  answer({ path }, planned, round) {
    const all = partsOf(planned, round);
    const head = { modelVersion: 'gemini-3-strict', responseId: `r${round}` };
    const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };
    const candidate = (some: JsonObject[], finishReason?: string) => ({
      ...head,
      candidates: [
        { content: { role: 'model', parts: some }, index: 0, ...(finishReason !== undefined && { finishReason }) },
      ],
    });
    return {
      streamed: path.includes('stream'),
      whole: { ...candidate(all, 'STOP'), usageMetadata },
      frames: [
        ...all.flatMap(streamedPart).map((part) => candidate([part])),
        { ...candidate([{ text: '' }], 'STOP'), usageMetadata },
      ].map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`),
    };
  },

  refusal: (message) => ({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }),
};

/** There must be as many responses as calls, in order, before anything else, each an object. */
function checkResponses(content: JsonObject, before: JsonObject | undefined, at: number): void {
  if (content['role'] !== 'user') return;
  const called = having(before, 'functionCall').map((part) => (part['functionCall'] as JsonObject)['name']);
  const responses = having(content, 'functionResponse').map((part) => part['functionResponse'] as JsonObject);
  const names = responses.map(({ name }) => name);
  must(same(names, called), `contents[${at}]: function responses must equal the function calls of the turn before`);
  for (const { response } of responses) must(isJsonObject(response), `contents[${at}]: response must be an object`);
  const first = parts(content).slice(0, responses.length);
  must(
    first.every((part) => part['functionResponse'] !== undefined),
    `contents[${at}]: function responses must come first`,
  );
}

/** A call in several parts, with its arguments addressed by path. */
function streamedPart(part: JsonObject): JsonObject[] {
  const call = part['functionCall'];
  if (!isJsonObject(call)) return [part];
  const { name, args } = call as { name: string; args: JsonObject };
  const places = Object.entries(args).flatMap(([key, value]): JsonObject[] => {
    const jsonPath = `$.${key}`;
    if (typeof value !== 'string') return [{ jsonPath, numberValue: value }];
    const middle = Math.ceil(value.length / 2);
    return [
      { jsonPath, stringValue: value.slice(0, middle), willContinue: true },
      { jsonPath, stringValue: value.slice(middle) },
    ];
  });
  return [
    { ...part, functionCall: { name, willContinue: true } },
    ...places.map((place) => ({ functionCall: { partialArgs: [place], willContinue: true } })),
    { functionCall: {} },
  ];
}
