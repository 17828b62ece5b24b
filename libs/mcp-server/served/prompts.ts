// The prompts of a decorated server: listed, and filled with checked arguments. Prompts of a `PromptSource`, which may change at any
// time, come after the declared ones.
import {
  type CompleteResult,
  type GetPromptResult,
  type InputRequiredResult,
  isInputRequiredResult,
  type Prompt,
  type PromptArgument,
  type PromptMessage,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { McpPromptOptions, PromptReturn } from '../decorators.js';
import { problems } from '../served-tool.js';
import type { ToolContext } from '../tool-context.js';
import { choicesOf, type Completing, completeValue, noCompletion } from './completion.js';

export interface PromptSource {
  list(signal: AbortSignal): Promise<Prompt[]>;
  /** Undefined if no prompt has the name. @throws PromptArgumentError */
  get(
    name: string,
    values: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<GetPromptResult | undefined>;
}

/** The message tells the caller what is wrong with the arguments. */
export class PromptArgumentError extends Error {
  override readonly name = 'PromptArgumentError';
}

export interface PromptOffer {
  name: string;
  /** Where the prompt was declared, for the error about a second one: `Letters.reply`. */
  place: string;
  options: McpPromptOptions;
  /** `this` of completers. */
  instance?: object;
  fill: (values: Record<string, unknown>, context: ToolContext) => PromptReturn | Promise<PromptReturn>;
}

interface ServedPrompt extends PromptOffer {
  listed: Prompt;
}

export class ServedPrompts {
  private readonly byName = new Map<string, ServedPrompt>();

  /** `server`: its name, for errors. */
  constructor(
    private readonly server: string,
    private readonly source: PromptSource | undefined,
  ) {}

  /** Whether there are prompts, or may be. */
  get areOffered(): boolean {
    return this.byName.size > 0 || this.source !== undefined;
  }

  /** @throws Error naming both places when the name is taken. */
  add(offer: PromptOffer): void {
    const other = this.byName.get(offer.name);
    if (other !== undefined) {
      const places = `${other.place} and ${offer.place}`;
      throw new Error(`Two prompts of MCP server '${this.server}' are named '${offer.name}': ${places}`);
    }
    this.byName.set(offer.name, { ...offer, listed: listedPrompt(offer) });
  }

  remove(name: string): boolean {
    return this.byName.delete(name);
  }

  async list(signal: AbortSignal): Promise<Prompt[]> {
    const declared = [...this.byName.values()].map(({ listed }) => listed);
    const more = (await this.source?.list(signal)) ?? [];
    return [...declared, ...more.filter(({ name }) => !this.byName.has(name))];
  }

  /** @throws ProtocolError for an unknown name and for arguments, and the method's errors */
  async get(
    name: string,
    values: Readonly<Record<string, string>>,
    context: ToolContext,
  ): Promise<GetPromptResult | InputRequiredResult> {
    const prompt = this.byName.get(name);
    if (prompt === undefined) return this.fromSource(name, values, context.signal);
    const { arguments: schema = z.object({}), description } = prompt.options;
    const read = schema.safeParse(values);
    if (!read.success)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Invalid arguments: ${problems(read.error)}`);
    const returned = await prompt.fill(read.data, context);
    if (isInputRequiredResult(returned)) return returned;
    if (typeof returned === 'object' && 'messages' in returned) return returned;
    const messages: PromptMessage[] =
      typeof returned === 'string' ? [{ role: 'user', content: { type: 'text', text: returned } }] : [...returned];
    return { description, messages };
  }

  /** Undefined: there is no such prompt. */
  async complete(
    name: string,
    argument: string,
    asked: Completing,
    context: ToolContext,
  ): Promise<CompleteResult | undefined> {
    const prompt = this.byName.get(name);
    if (prompt === undefined) return this.source === undefined ? undefined : noCompletion;
    const { options, instance } = prompt;
    const completer = options.complete?.[argument] ?? choicesOf(options.arguments, argument);
    return completeValue(completer, instance, asked, context);
  }

  private async fromSource(
    name: string,
    values: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<GetPromptResult> {
    try {
      const prompt = await this.source?.get(name, values, signal);
      if (prompt !== undefined) return prompt;
    } catch (error) {
      if (!(error instanceof PromptArgumentError)) throw error;
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message);
    }
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown prompt', { code: 'prompt_not_found' });
  }
}

function listedPrompt({ name, options }: PromptOffer): Prompt {
  const { title, description, arguments: schema } = options;
  return {
    name,
    description,
    ...(title === undefined ? {} : { title }),
    ...(schema === undefined ? {} : { arguments: listedArguments(schema) }),
  };
}

function listedArguments(schema: z.ZodObject): PromptArgument[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return Object.entries(properties).map(([name, argument]) => {
    const description = typeof argument === 'object' ? argument.description : undefined;
    return { name, required: required.includes(name), ...(description === undefined ? {} : { description }) };
  });
}
