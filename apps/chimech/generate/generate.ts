// chimech/generate: a text, code, an e-mail or a report by a model of the gateway. What comes back is checked against the
// form that was asked for, and the model is asked once to repair what is wrong.
import { z } from 'zod';
import type { ChimechContext } from '../calls/chimech-context.js';
import { ChimechMCPError, unreadableText } from '../errors/chimech-mcp-error.js';
import type { PromptMessage } from '../api/api-client.js';
import { say } from '../language.js';
import { isUnreadable, withoutForeignCharacters } from '../readable-text.js';
import { checkOutput } from './check-output.js';
import { fillTemplate, textTypes, type Template, type Templates, type TextType } from './templates.js';

const lengths = ['short', 'medium', 'long'] as const;
const styles = ['formal', 'casual', 'technical'] as const;

export const generateInput = z.object({
  prompt: z.string().trim().min(1).max(100_000).describe('What to write'),
  type: z.enum(textTypes).optional().describe('Default: the type of the template, or text'),
  options: z
    .object({
      length: z.enum(lengths).optional(),
      style: z.enum(styles).optional(),
      language: z.string().min(1).max(64).optional().describe('Language of the text, or the programming language'),
      template: z.string().min(1).max(64).optional().describe('Name of a template'),
    })
    .optional(),
});

export const generateOutput = z.looseObject({
  text: z.string(),
  metadata: z.looseObject({
    tokens_used: z.number().int(),
    template: z.string().optional(),
    checked: z.boolean(),
    repaired: z.boolean().optional(),
    model: z.string(),
  }),
});

type Options = NonNullable<z.output<typeof generateInput>['options']>;

const maxTokens: Record<(typeof lengths)[number], number> = { short: 600, medium: 2_000, long: 6_000 };

const forms: Record<TextType, string> = {
  text: 'Write the text alone, without remarks about it.',
  code: 'Write the code alone, in one fenced block that names its language.',
  email:
    'Write an e-mail: the first line is "Subject: …" (in Chinese "主题：…"), then a greeting, the body, a closing.',
  report: 'Write a report in Markdown: a title, then sections, each under a heading.',
};
const lengthWords = { short: 'Keep it short.', medium: 'Medium length.', long: 'Write at length.' };
const styleWords = {
  formal: 'The style is formal.',
  casual: 'The style is casual.',
  technical: 'The style is technical.',
};

/** @throws ChimechMCPError INVALID_PARAMS for an unknown template, and those of the API client */
export async function generate(
  input: z.output<typeof generateInput>,
  templates: Templates,
  call: ChimechContext,
): Promise<object> {
  const { options = {} } = input;
  if (isUnreadable(input.prompt))
    throw new ChimechMCPError(say(call.language, unreadableText('prompt')), 'INVALID_PARAMS');
  const prompt = withoutForeignCharacters(input.prompt);
  const template = await findTemplate(options.template, templates, call);
  const type = input.type ?? template?.type ?? 'text';
  const messages: PromptMessage[] = [
    { role: 'system', content: instructions(type, options, call) },
    { role: 'user', content: template === undefined ? prompt : withTemplate(prompt, template) },
  ];
  const ask = (more: readonly PromptMessage[]) =>
    call.apiClient.chat({
      messages: [...messages, ...more],
      maxTokens: maxTokens[options.length ?? 'medium'],
      temperature: type === 'code' ? 0.2 : 0.7,
    });
  call.progress(0, 2);
  let answer = await ask([]);
  let tokens = answer.tokensUsed;
  let verdict = await checkOutput(type, answer.text, options.language);
  let repaired: boolean | undefined;
  if (verdict.form === 'wrong') {
    call.progress(1, 2);
    const second = await ask([
      { role: 'assistant', content: answer.text },
      { role: 'user', content: `This does not have the requested form: ${verdict.problem}. Write all of it again.` },
    ]);
    tokens += second.tokensUsed;
    const secondVerdict = await checkOutput(type, second.text, options.language);
    repaired = secondVerdict.form === 'right';
    if (repaired) [answer, verdict] = [second, secondVerdict];
  }
  const metadata = {
    tokens_used: tokens,
    ...(template === undefined ? {} : { template: template.name }),
    checked: verdict.form === 'right',
    ...(repaired === undefined ? {} : { repaired }),
    model: answer.model,
  };
  return {
    content: [{ type: 'text', text: answer.text }],
    structuredContent: { text: answer.text, metadata },
  };
}

async function findTemplate(name: string | undefined, templates: Templates, call: ChimechContext) {
  if (name === undefined) return undefined;
  const all = await templates.all(call.signal);
  const template = all.get(name);
  if (template !== undefined) return template;
  const known = [...all.keys()].join(', ');
  const texts = {
    en: `There is no template '${name}'; ${known === '' ? 'there are none' : `there are: ${known}`}`,
    zh: `没有名为“${name}”的模板；${known === '' ? '目前没有任何模板' : `可用的模板：${known}`}`,
  };
  throw new ChimechMCPError(say(call.language, texts), 'INVALID_PARAMS');
}

function instructions(type: TextType, { length, style, language }: Options, call: ChimechContext): string {
  const natural = say(call.language, { en: 'the language of the request', zh: 'Chinese' });
  return [
    forms[type],
    type === 'code' && language !== undefined ? `The programming language is ${language}.` : '',
    type === 'code' ? '' : `Write in ${language ?? natural}.`,
    length === undefined ? '' : lengthWords[length],
    style === undefined ? '' : styleWords[style],
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');
}

/** What the body does not get from the request by its place, the model takes from the request. */
function withTemplate(prompt: string, template: Template): string {
  const filled = fillTemplate(template, { prompt });
  return `${filled}\n\nThe request, which gives the values of [names] above:\n${prompt}`;
}
