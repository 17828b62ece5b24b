// The marks of a function call in plain text: ours, and those that models write unasked.
// No mark contains the first character of another inside it, so a match that fails never hides the start of a second.

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

/** What a whole tag means; undefined while it is not whole. */
export const tagKind = (text: string): TagKind | undefined => kinds.get(text);

/** Whether more characters could still make a tag of it. */
export const beginsTag = (text: string): boolean => beginnings.has(text);

/** Text that a model may repeat without calling anything: the tags in it are tags no more. */
export const disarmed = (text: string): string =>
  text.replaceAll(
    /[<[](?=\/?function_(?:call|result)\b|\/?tool_call\b|\|(?:python_tag|eom_id|eot_id)\||TOOL_CALLS\])/gi,
    (start) => (start === '<' ? '&lt;' : '&#91;'),
  );

/** A code fence with its line, as models put them around calls, or what may still become one. */
export const beginsFence = (text: string): boolean =>
  /^(?:`{1,3}|```[A-Za-z_]{1,16}|```[A-Za-z_]{0,16}\s{1,8})$/.test(text);

export const isFence = (text: string): boolean => /^```[A-Za-z_]{0,16}\s*$/.test(text);
