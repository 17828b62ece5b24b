// The tools of OpenAI's and Anthropic's APIs that are neither functions nor tools of a server here: those that run at the provider,
// and those that the caller runs. Instead of the latter, other families are offered a function with the same arguments.
import type { JsonObject } from '#libs/schemas/json.js';
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import type { Warning } from '#libs/schemas/warning.js';

export type OtherTool = JsonObject & { type: string };

/** Types of tools, with or without the date of their version. */
const atOpenAi =
  /^(?:web_search|web_search_preview|file_search|code_interpreter|image_generation)(?:_\d{4}_\d\d_\d\d)?$/;

/** Whether a tool runs at OpenAI. OpenAI's tools that clients run have other forms of results, and are not served. */
export const runsAtOpenAi = (type: string): boolean => atOpenAi.test(type);

export function leftOut(type: string, param: string): Warning {
  return { message: `Tools of type '${type.slice(0, 64)}' are not supported here, so ${param} was left out`, param };
}

const text = { type: 'string' };
const place = { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 2 };
const command = (...commands: string[]) => ({ type: 'string', enum: commands });
const path = { ...text, description: 'An absolute path' };

interface Arguments {
  description: string;
  properties: JsonObject;
  required: string[];
}

/**
 * The arguments of Anthropic's tools that callers run
 * (https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview), by the type without its date.
 */
const atCaller: Record<string, Arguments> = {
  bash: {
    description: 'Runs a command in a shell that stays open between calls; restart begins it anew',
    properties: { command: text, restart: { type: 'boolean' } },
    required: [],
  },
  text_editor: {
    description: 'Views, creates and edits text files',
    properties: {
      command: command('view', 'create', 'str_replace', 'insert', 'undo_edit'),
      path,
      file_text: { ...text, description: 'For create' },
      old_str: { ...text, description: 'For str_replace: occurs once in the file' },
      new_str: { ...text, description: 'For str_replace and insert' },
      insert_text: { ...text, description: 'For insert' },
      insert_line: { type: 'integer', description: 'For insert: the line after which it goes, 0 for the start' },
      view_range: { ...place, description: 'For view: first and last line, -1 for the end' },
    },
    required: ['command', 'path'],
  },
  memory: {
    description: 'Keeps notes between conversations, in files below /memories',
    properties: {
      command: command('view', 'create', 'str_replace', 'insert', 'delete', 'rename'),
      path,
      file_text: text,
      old_str: text,
      new_str: text,
      insert_line: { type: 'integer' },
      insert_text: text,
      view_range: place,
      old_path: path,
      new_path: path,
    },
    required: ['command'],
  },
  computer: {
    description: 'Looks at a screen and uses its mouse and keyboard',
    properties: {
      action: { ...text, description: 'screenshot, left_click, type, key, mouse_move, scroll, wait, …' },
      coordinate: { ...place, description: 'x and y in pixels' },
      start_coordinate: place,
      text: { ...text, description: 'What to type, or the keys to press' },
      scroll_direction: command('up', 'down', 'left', 'right'),
      scroll_amount: { type: 'integer' },
      duration: { type: 'number', description: 'Seconds' },
    },
    required: ['action'],
  },
};

/** A tool of Anthropic's that the caller runs, as a function; undefined if it runs at the provider. */
export function asFunction(tool: OtherTool): (ToolDefinition & { parameters: JsonObject }) | undefined {
  const kind = /^(.+)_\d{8}$/.exec(tool.type)?.[1] ?? '';
  const { name } = tool;
  if (!Object.hasOwn(atCaller, kind) || typeof name !== 'string') return undefined;
  const { description, properties, required } = atCaller[kind]!;
  const { display_width_px: width, display_height_px: height } = tool;
  const size =
    typeof width === 'number' && typeof height === 'number' ? `. The screen has ${width}×${height} pixels` : '';
  return {
    name,
    description: description + size,
    parameters: { type: 'object', properties, ...(required.length > 0 && { required }) },
    own: { api: 'anthropic', tool },
  };
}
