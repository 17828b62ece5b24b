// Writes the system message for models without tool use: how to write a call, the available functions, and an example.
import { keptFor } from '#libs/kept/kept-for.js';
import type { ToolChoice, ToolDefinition } from '#libs/schemas/tool-definition.js';
import { exampleArguments } from './example-arguments.js';
import { callClose, callOpen, disarmed, resultClose, resultOpen } from './function-tags.js';

export interface FunctionOffer {
  tools: ToolDefinition[];
  toolChoice?: Exclude<ToolChoice, 'none'>;
  parallelToolCalls?: boolean;
}

export function writeFunctionRules(offer: FunctionOffer): string {
  return [
    `You can call functions. A call is a block of exactly this form:

${callOpen}
{"name": "function name", "arguments": {"argument": "value"}}
${callClose}`,
    `Rules:\n${rules(offer).join('\n')}`,
    `Functions:\n\n${offer.tools.map(describe).join('\n\n')}`,
    workedExample(offer),
  ].join('\n\n');
}

/** For a history that has calls, if no functions are offered now. */
export const noFunctionsRule = `Functions are not available any more: write no ${callOpen} block, answer in plain text.`;

function rules({ toolChoice = 'auto', parallelToolCalls }: FunctionOffer): string[] {
  return [
    `- Between ${callOpen} and ${callClose} stands one JSON object with "name" and "arguments", and nothing else. The arguments must satisfy the JSON Schema of the function.`,
    '- Write valid JSON: double quotes, no comments, no comma after the last member, no code fence.',
    parallelToolCalls === false
      ? '- Write at most one block in an answer.'
      : '- To make several calls, write several blocks, one after the other.',
    `- Your answer ends after the last block. The results come in the next message, in ${resultOpen} blocks; never write such a block and never guess a result.`,
    choiceRule(toolChoice),
  ];
}

function choiceRule(choice: Exclude<ToolChoice, 'none'>): string {
  if (typeof choice === 'object') return `- This answer must call the function ${JSON.stringify(choice.name)}.`;
  if (choice === 'required') return '- This answer must call at least one function.';
  return '- When no function helps, answer in plain text without any block.';
}

/** Definitions are the same objects in every request, so each is described once. */
const describe = keptFor(({ name, description = '', parameters }: ToolDefinition): string => {
  const lines = [
    `Name: ${name}`,
    `Description: ${description}`,
    `JSON Schema of the arguments: ${JSON.stringify(parameters ?? { type: 'object', properties: {} })}`,
  ];
  return (description === '' ? lines.toSpliced(1, 1) : lines).join('\n');
});

function workedExample({ tools, toolChoice }: FunctionOffer): string {
  const wanted = typeof toolChoice === 'object' ? toolChoice.name : undefined;
  const tool = tools.find(({ name }) => name === wanted) ?? tools[0]!;
  return `Example of a conversation, with made-up values:

User: (asks for something that ${tool.name} can do)
Assistant:
${renderCall(tool.name, JSON.stringify(exampleArguments(tool.parameters)))}
User:
${renderResult({ name: tool.name, text: '(what the function returned)', failed: false })}
Assistant: (answers from the result)`;
}

export function renderCall(name: string, argumentsText: string): string {
  return `${callOpen}\n{"name": ${JSON.stringify(name)}, "arguments": ${argumentsText}}\n${callClose}`;
}

export interface FunctionResult {
  name: string;
  text: string;
  failed: boolean;
}

/** Escapes tags in the result, so that it can neither end its block nor make calls. */
export function renderResult({ name, text, failed }: FunctionResult): string {
  const head = failed ? `${name} failed:` : `${name} returned:`;
  return `${resultOpen}\n${head}\n${disarmed(text)}\n${resultClose}`;
}
