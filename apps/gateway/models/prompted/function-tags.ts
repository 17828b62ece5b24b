// The tags of function calls in plain text: ours, and those that models write by themselves. After its first character, no
// tag contains a character that starts a tag, so a failed match cannot hide the start of another.

export const callOpen = '<function_call>';
export const callClose = '</function_call>';
export const resultOpen = '<function_result>';
export const resultClose = '</function_result>';

export type TagKind = 'open' | 'close' | 'result';

const kinds = new Map<string, TagKind>([
  [callOpen, 'open'],
  // Hermes, Qwen
  ['<tool_call>', 'open'],
  // Llama
  ['<|python_tag|>', 'open'],
  // Mistral
  ['[TOOL_CALLS]', 'open'],
  [callClose, 'close'],
  ['</tool_call>', 'close'],
  ['<|eom_id|>', 'close'],
  ['<|eot_id|>', 'close'],
  [resultOpen, 'result'],
  [resultClose, 'close'],
]);

const beginnings = new Set([...kinds.keys()].flatMap((tag) => Array.from(tag, (_, at) => tag.slice(0, at + 1))));

/** Undefined if `text` is not a complete tag. */
export const tagKind = (text: string): TagKind | undefined => kinds.get(text);

export const beginsTag = (text: string): boolean => beginnings.has(text);

/** Escapes the tags in a text, so that a model that repeats it makes no call. */
export const disarmed = (text: string): string =>
  text.replaceAll(
    /[<[](?=\/?function_(?:call|result)\b|\/?tool_call\b|\|(?:python_tag|eom_id|eot_id)\||TOOL_CALLS\])/gi,
    (start) => (start === '<' ? '&lt;' : '&#91;'),
  );

/** Whether `text` is a code fence with its language, or the start of one. Models put calls in fences. */
export const beginsFence = (text: string): boolean =>
  /^(?:`{1,3}|```[A-Za-z_]{1,16}|```[A-Za-z_]{0,16}\s{1,8})$/.test(text);

export const isFence = (text: string): boolean => /^```[A-Za-z_]{0,16}\s*$/.test(text);
