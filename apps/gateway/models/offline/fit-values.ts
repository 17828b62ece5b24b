// What a clause says for an enumeration, a switch or a list.
import type { Json, JsonObject } from '#libs/schemas/json.js';
import { namedValue, termsForName, type Clause } from './read-clause.js';
import { hasHan, readWords, shared, splitName } from './words.js';

/** The option that the clause names, by its own word or the other language's. */
export function mentionedOption(name: string, options: readonly Json[], clause: Clause): Json | undefined {
  const { lower, words } = clause;
  const named = namedValue(name, '', clause)?.toLowerCase();
  const said = (option: Json): boolean => {
    const word = typeof option === 'object' ? JSON.stringify(option) : String(option).toLowerCase();
    if (named === word) return true;
    if (word.length > 1 && hasHan(word) && lower.includes(word)) return true;
    const plain = splitName(word).trim();
    return plain.length > 1 && ` ${lower.replace(/[^\p{L}\p{N}%+#]+/gu, ' ')} `.includes(` ${plain} `);
  };
  const means = (option: Json) =>
    typeof option === 'string' && shared(readWords(splitName(option)).values, words.values).length > 0;
  return options.slice(0, 500).find(said) ?? options.slice(0, 500).find(means);
}

const SWITCHES = /^(?:on|off|enabled?|disabled?|power|state|active|is on|turned? on|switch|switched on|open)$/;

export function flagIn(name: string, schema: JsonObject, clause: Clause): boolean | undefined {
  const { text, lower, words } = clause;
  const named = namedValue(name, '', clause);
  if (named !== undefined && /^(?:true|yes|on|1|是|开|真)/i.test(named)) return true;
  if (named !== undefined && /^(?:false|no|off|0|否|关|假)/i.test(named)) return false;
  const own = splitName(name).toLowerCase();
  if (SWITCHES.test(own)) {
    const inverse = /^(?:off|disabled?)$/.test(own);
    if (/\b(?:off|disable|deactivate|shut)\b|关|停用|禁用/i.test(text)) return inverse;
    if (/\b(?:on|enable|activate)\b|开|启用|点亮/i.test(text)) return !inverse;
  }
  const description = typeof schema['description'] === 'string' ? schema['description'].slice(0, 200) : '';
  const term = termsForName(name, description).find(
    (word) => (hasHan(word) || word.length > 3) && lower.includes(word),
  );
  if (term === undefined) {
    const isRecursive = /recurs/.test(own) && /递归|所有子|subfolder|subdirector|recursive/i.test(text);
    return isRecursive || (own === 'append' && words.actions.has('write') && /追加|append/i.test(text))
      ? true
      : undefined;
  }
  return !/(?:without|not|no|don't|never|不要?|别|无需|非)\s?(?:\w+\s)?$/.test(lower.slice(0, lower.indexOf(term)));
}

/** `tags red, green and blue`. */
export function listAfter(name: string, text: string): string | undefined {
  const at = text.toLowerCase().indexOf(splitName(name).toLowerCase());
  const rest = at < 0 ? '' : text.slice(at + name.length, at + name.length + 300);
  return /^[:：]?\s+([\p{L}\d_-]+(?:\s*[,，、]\s*(?:and\s+)?[\p{L}\d_-]+)+(?:\s+and\s+[\p{L}\d_-]+)?)/u
    .exec(rest)?.[1]
    ?.replace(/\s+and\s+/, ', ');
}

export function momentStyle(name: string, schema: JsonObject): 'date' | 'time' | 'date-time' {
  if (schema['format'] === 'date' || schema['format'] === 'time') return schema['format'];
  return schema['format'] === undefined && /date|day|日期/.test(splitName(name).toLowerCase()) ? 'date' : 'date-time';
}

/** The command behind “run …”, or the identifier that an `…_id` wants. */
export function commandOrId(name: string, clause: Clause, runs: boolean): string | undefined {
  if (runs) {
    const verb =
      /(?:\b(?:run|execute)\b|运行|执行)(?:\s{1,3}the)?\s{0,3}(?:command|script|code|命令|代码)?\s{0,3}[:：]?\s{0,3}(?=\S)/i.exec(
        clause.text,
      );
    const command = verb === null ? '' : clause.text.slice(verb.index + verb[0].length).trim();
    if (command !== '') return command;
  }
  if (!/\b(?:id|no|number|code|key)$|编号/i.test(splitName(name))) return undefined;
  return /(?<![\w.])(?:[A-Za-z]{1,10}-?)?\d[\w-]{0,60}(?![\w.])/.exec(clause.entities.masked)?.[0];
}
