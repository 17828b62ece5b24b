// What a row is about, in words. Kinds of a newer gateway are shown as they are.
import type { AuditRow } from '@signalbox/client';
import type { Language } from '../../../i18n/language.js';

const words: Readonly<Record<string, Readonly<Record<Language, string>>>> = {
  tool_call: { en: 'tool call', zh: '工具调用' },
  client_call: { en: "caller's own call", zh: '调用者自行运行的调用' },
  model_call: { en: 'model call of a tool', zh: '工具的模型调用' },
  arguments_converted: { en: 'arguments converted', zh: '参数转换' },
  approval: { en: 'approval', zh: '审批' },
  question: { en: 'answer to a question', zh: '对提问的回答' },
  key_change: { en: 'key changed', zh: '密钥更改' },
  policy_change: { en: 'policy changed', zh: '策略更改' },
  definition_change: { en: 'tool definition changed', zh: '工具定义更改' },
  replay: { en: 'replay', zh: '重放' },
  sign_in_failed: { en: 'sign-in failed', zh: '登录失败' },
  connection: { en: 'connection', zh: '连接' },
};

export const auditKinds = Object.keys(words);

export const kindWord = (kind: string, language: Language): string =>
  Object.hasOwn(words, kind) ? words[kind]![language] : kind;

/** What the row is of: a tool, a key by its name, a model. */
export function subjectOf({ server, tool, name, model }: AuditRow): string {
  if (tool !== null && tool !== '') return server === null || server === '' ? tool : `${server}/${tool}`;
  return name ?? model ?? '';
}
