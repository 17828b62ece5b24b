// The tools of the official conformance suites that ask their client something, as a server of ours would have them. A method
// that returns `inputRequired` runs again with the answers; clients of the older eras are asked by a request.
import { inputRequired, inputResponse } from '@modelcontextprotocol/server';
import type { ElicitRequestFormParams } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { McpServer, McpTool } from '#libs/mcp-server/decorators.js';
import type { ToolContext } from '#libs/mcp-server/tool-context.js';

const nothing = z.object({});
type Schema = ElicitRequestFormParams['requestedSchema'];
const textOf = (name: string): Schema => ({
  type: 'object',
  properties: { [name]: { type: 'string' } },
  required: [name],
});

const form = (message: string, requestedSchema: Schema) => inputRequired.elicit({ message, requestedSchema });
const prompt = (text: string, maxTokens = 100) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens });

const defaults: Schema = {
  type: 'object',
  properties: {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
};

const confirmation: Schema = {
  type: 'object',
  properties: { confirm: { type: 'boolean' }, name: { type: 'string' } },
  required: ['confirm'],
};

const titled = (...names: string[]) => names.map((name, at) => ({ const: name, title: `Choice ${at + 1}` }));
const enums: Schema = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    titledSingle: { type: 'string', oneOf: titled('value1', 'value2', 'value3') },
    legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
    untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
    titledMulti: { type: 'array', items: { anyOf: titled('value1', 'value2', 'value3') } },
  },
};

@McpServer({ name: 'conformance' })
export class AskingTools {
  @McpTool({ description: 'Asks for a name.', input: z.object({ message: z.string() }), name: 'test_elicitation' })
  askForUser({ message }: { message: string }, { inputResponses }: ToolContext) {
    const properties = { username: { type: 'string' }, email: { type: 'string' } } as const;
    const answer = inputResponse(inputResponses, 'user');
    if (answer.kind === 'elicit') return `User response: ${JSON.stringify(answer)}`;
    const schema: Schema = { type: 'object', properties, required: ['username', 'email'] };
    return inputRequired({ inputRequests: { user: form(message, schema) } });
  }

  @McpTool({ description: 'Has defaults.', input: nothing, name: 'test_elicitation_sep1034_defaults' })
  askWithDefaults(_input: object, { inputResponses }: ToolContext) {
    return askOnce(form('Who are you?', defaults), inputResponses);
  }

  @McpTool({ description: 'Has choices.', input: nothing, name: 'test_elicitation_sep1330_enums' })
  askWithChoices(_input: object, { inputResponses }: ToolContext) {
    return askOnce(form('Choose', enums), inputResponses);
  }

  @McpTool({ description: 'Asks a model.', input: z.object({ prompt: z.string() }), name: 'test_sampling' })
  askModel({ prompt: text }: { prompt: string }, { inputResponses }: ToolContext) {
    const answer = inputResponse(inputResponses, 'thought');
    if (answer.kind === 'sampling') return `LLM response: ${JSON.stringify(answer.result.content)}`;
    return inputRequired({ inputRequests: { thought: prompt(text) } });
  }

  @McpTool({ description: 'Asks a model, always.', input: nothing, name: 'test_missing_capability' })
  needModel(_input: object, context: ToolContext) {
    return this.askModel({ prompt: 'Hello' }, context);
  }

  @McpTool({ description: 'Greets.', input: nothing, name: 'test_input_required_result_elicitation' })
  greet(_input: object, { inputResponses }: ToolContext) {
    const answer = inputResponse(inputResponses, 'user_name');
    if (answer.kind === 'elicit' && answer.action === 'accept') return `Hello, ${String(answer.content?.['name'])}!`;
    return inputRequired({ inputRequests: { user_name: form('What is your name?', textOf('name')) } });
  }

  @McpTool({ description: 'Asks for a capital.', input: nothing, name: 'test_input_required_result_sampling' })
  askCapital(_input: object, { inputResponses }: ToolContext) {
    const answer = inputResponse(inputResponses, 'capital_question');
    if (answer.kind === 'sampling') return JSON.stringify(answer.result.content);
    return inputRequired({ inputRequests: { capital_question: prompt('What is the capital of France?') } });
  }

  @McpTool({ description: 'Asks for roots.', input: nothing, name: 'test_input_required_result_list_roots' })
  askRoots(_input: object, { inputResponses }: ToolContext) {
    const answer = inputResponse(inputResponses, 'client_roots');
    if (answer.kind === 'roots') return answer.roots.map(({ uri }) => uri).join('\n');
    return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
  }

  @McpTool({ description: 'Keeps a state.', input: nothing, name: 'test_input_required_result_request_state' })
  keepState(_input: object, context: ToolContext) {
    return confirm(context);
  }

  @McpTool({ description: 'Keeps a state.', input: nothing, name: 'test_input_required_result_tampered_state' })
  keepSafeState(_input: object, context: ToolContext) {
    return confirm(context);
  }

  @McpTool({ description: 'Asks everything.', input: nothing, name: 'test_input_required_result_multiple_inputs' })
  askEverything(_input: object, { inputResponses }: ToolContext) {
    const kinds = ['user_name', 'greeting', 'client_roots'].map((key) => inputResponse(inputResponses, key).kind);
    if (!kinds.includes('missing')) return `Answered: ${kinds.join(', ')}`;
    return inputRequired({
      inputRequests: {
        user_name: form('What is your name?', textOf('name')),
        greeting: prompt('Generate a greeting', 50),
        client_roots: inputRequired.listRoots(),
      },
      requestState: 'asked',
    });
  }

  @McpTool({ description: 'Asks twice.', input: nothing, name: 'test_input_required_result_multi_round' })
  askTwice(_input: object, { inputResponses, requestState }: ToolContext) {
    if (requestState === 'second' && inputResponse(inputResponses, 'step2').kind === 'elicit') return 'Thank you';
    return requestState === 'first' && inputResponse(inputResponses, 'step1').kind === 'elicit'
      ? inputRequired({
          inputRequests: { step2: form('Step 2: What is your favorite color?', textOf('color')) },
          requestState: 'second',
        })
      : inputRequired({
          inputRequests: { step1: form('Step 1: What is your name?', textOf('name')) },
          requestState: 'first',
        });
  }

  @McpTool({
    description: 'Asks before it deletes.',
    input: z.object({ filename: z.string() }),
    name: 'confirm_delete',
  })
  confirmDelete({ filename }: { filename: string }, { inputResponses }: ToolContext) {
    if (inputResponse(inputResponses, 'delete').kind === 'elicit') return `${filename} is gone`;
    return inputRequired({ inputRequests: { delete: form(`Delete ${filename}?`, confirmation) } });
  }

  @McpTool({ description: 'Asks two things at once.', input: nothing, name: 'multi_input' })
  askTwoThings(_input: object, { inputResponses }: ToolContext) {
    const given = ['first', 'second'].map((key) => inputResponse(inputResponses, key).kind);
    if (given.every((kind) => kind === 'elicit')) return 'Thank you twice';
    const inputRequests = { first: form('The first?', confirmation), second: form('The second?', confirmation) };
    return inputRequired({ inputRequests });
  }

  @McpTool({ description: 'Asks what it can.', input: nothing, name: 'test_input_required_result_capabilities' })
  askWhatItCan(_input: object, { clientCapabilities: { elicitation, sampling }, inputResponses }: ToolContext) {
    if (inputResponses !== undefined) return 'Answered';
    const inputRequests = {
      ...(elicitation === undefined ? {} : { user_name: form('What is your name?', textOf('name')) }),
      ...(sampling === undefined ? {} : { greeting: prompt('Generate a greeting') }),
    };
    return Object.keys(inputRequests).length === 0 ? 'Nobody can be asked' : inputRequired({ inputRequests });
  }
}

function askOnce(question: ReturnType<typeof form>, inputResponses: ToolContext['inputResponses']) {
  const answer = inputResponse(inputResponses, 'user');
  if (answer.kind !== 'elicit') return inputRequired({ inputRequests: { user: question } });
  return `Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`;
}

function confirm({ inputResponses, requestState }: ToolContext) {
  if (requestState === 'asked' && inputResponse(inputResponses, 'confirm').kind === 'elicit') return 'state-ok';
  const schema: Schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
  return inputRequired({ inputRequests: { confirm: form('Please confirm', schema) }, requestState: 'asked' });
}
