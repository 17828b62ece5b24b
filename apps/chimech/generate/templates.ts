// Templates for chimech/generate: Markdown files with front matter (`name`, `type`, `arguments`) in one directory, read when
// they are used. A broken file is named in the log and left out. They are listed as MCP prompts.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { GetPromptResult, Prompt } from '@modelcontextprotocol/server';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Logger } from '#libs/logging/logger.js';
import { PromptArgumentError, type PromptSource } from '#libs/mcp-server/served/prompts.js';

export const textTypes = ['text', 'code', 'email', 'report'] as const;
export type TextType = (typeof textTypes)[number];

const maxFiles = 200;
const maxFileBytes = 64 * 1024;

const argumentName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/);
const frontMatter = z.object({
  name: z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/),
  type: z.enum(textTypes).default('text'),
  description: z.string().max(1_000).optional(),
  arguments: z
    .array(
      z.union([
        argumentName.transform((name) => ({ name, description: undefined, required: false })),
        z.object({
          name: argumentName,
          description: z.string().max(1_000).optional(),
          required: z.boolean().default(false),
        }),
      ]),
    )
    .max(32)
    .default([]),
});

export interface Template extends z.output<typeof frontMatter> {
  /** With `{{name}}` for each argument, and `{{prompt}}` for the request. */
  body: string;
}

const placeholder = /\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g;

export class Templates implements PromptSource {
  constructor(
    private readonly directory: string,
    private readonly logger: Logger,
  ) {}

  /** By name. */
  async all(signal: AbortSignal): Promise<Map<string, Template>> {
    const found = new Map<string, Template>();
    for (const file of await this.files()) {
      signal.throwIfAborted();
      try {
        const template = await readTemplate(join(this.directory, file), signal);
        if (found.has(template.name)) throw new Error(`the name ${template.name} is taken by another file`);
        found.set(template.name, template);
      } catch (error) {
        this.logger.warn({ error, metadata: { file } }, 'a template was skipped');
      }
    }
    return found;
  }

  async list(signal: AbortSignal): Promise<Prompt[]> {
    return [...(await this.all(signal)).values()].map((template) => ({
      name: template.name,
      ...(template.description === undefined ? {} : { description: template.description }),
      arguments: argumentsOf(template).map(({ name, description, required }) => ({
        name,
        ...(description === undefined ? {} : { description }),
        required,
      })),
    }));
  }

  async get(name: string, values: Readonly<Record<string, string>>, signal: AbortSignal) {
    const template = (await this.all(signal)).get(name);
    if (template === undefined) return undefined;
    const missing = argumentsOf(template).filter(({ name, required }) => required && !Object.hasOwn(values, name));
    if (missing.length > 0) {
      throw new PromptArgumentError(`These arguments are missing: ${missing.map(({ name }) => name).join(', ')}`);
    }
    const text = fillTemplate(template, values);
    const result: GetPromptResult = { messages: [{ role: 'user', content: { type: 'text', text } }] };
    return template.description === undefined ? result : { ...result, description: template.description };
  }

  private async files(): Promise<string[]> {
    try {
      const entries = await readdir(this.directory, { withFileTypes: true });
      const names = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.md')).map(({ name }) => name);
      if (names.length > maxFiles) {
        this.logger.warn(
          { metadata: { files: names.length, maxFiles } },
          'there are too many templates: the rest were not read',
        );
      }
      return names.sort().slice(0, maxFiles);
    } catch (error) {
      this.logger.warn({ error }, 'the template directory cannot be read');
      return [];
    }
  }
}

/** What the front matter declares, and `prompt` where the body asks for it. */
function argumentsOf({ arguments: declared, body }: Template): Template['arguments'] {
  const asks = [...body.matchAll(placeholder)].some(([, name]) => name === 'prompt');
  if (!asks || declared.some(({ name }) => name === 'prompt')) return declared;
  return [...declared, { name: 'prompt', description: 'The request', required: true }];
}

/** A value that is not given stands as `[name]`. */
export function fillTemplate({ body }: Template, values: Readonly<Record<string, string>>): string {
  return body.replace(placeholder, (_whole, name: string) =>
    Object.hasOwn(values, name) ? values[name]! : `[${name}]`,
  );
}

async function readTemplate(path: string, signal: AbortSignal): Promise<Template> {
  const { size } = await stat(path);
  if (size > maxFileBytes) throw new Error(`it has ${size} bytes; the limit is ${maxFileBytes}`);
  const text = (await readFile(path, { encoding: 'utf8', signal })).replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  const [, head, body = ''] = /^---\n([\s\S]*?)\n---(?:\n([\s\S]*))?$/.exec(text) ?? [];
  if (head === undefined) throw new Error('it does not begin with front matter');
  if (body.trim() === '') throw new Error('there is no text below its front matter');
  const parsed = frontMatter.safeParse(parse(head));
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new Error(`its front matter is not valid: ${problems.join('; ')}`);
  }
  return { ...parsed.data, body: body.trim() };
}
