// Whether what a model wrote has the form that was asked for. It judges form only, never content.
import { checkCode } from './check-code.js';
import type { TextType } from './templates.js';

/** `unknown`: there is no way to tell here. The model gets the problem in English. */
export type Verdict = { form: 'right' } | { form: 'unknown' } | { form: 'wrong'; problem: string };

const right: Verdict = { form: 'right' };
const wrong = (problem: string): Verdict => ({ form: 'wrong', problem });

export async function checkOutput(type: TextType, text: string, language: string | undefined): Promise<Verdict> {
  switch (type) {
    case 'text':
      return text.trim() === '' ? wrong('the text is empty') : right;
    case 'email':
      return checkEmail(text);
    case 'report':
      return /^ {0,3}#{1,6} +\S/m.test(text) ? right : wrong('a report needs headings, as Markdown: "## Heading"');
    case 'code':
      return checkCodeBlock(text, language);
  }
}

const subjectLine =
  /^[*_#\s]*(?:subject|主题|主旨|标题|邮件主题|betreff|objet|asunto|oggetto|件名)[*_\s]*[:：][*_\s]*\S/i;
const greetingWord = /^(?:dear|hi|hello|hey|good (?:morning|afternoon|evening)|to whom|尊敬的|亲爱的|各位|您好|你好)/i;
const maxGreetingLength = 80;

/** A subject, and the line after it is short and greets: by a known word, or by how it ends. */
function checkEmail(text: string): Verdict {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^(?:```|---)/.test(line));
  const subject = lines.findIndex((line) => subjectLine.test(line));
  if (subject === -1) return wrong('an e-mail needs a line "Subject: …" first');
  const greeting = lines[subject + 1]?.replace(/^[*_]+|[*_]+$/g, '') ?? '';
  const greets =
    greetingWord.test(greeting) || (greeting.length <= maxGreetingLength && /[,，:：!！、]$/.test(greeting));
  return greets ? right : wrong('an e-mail needs a greeting in the line after its subject');
}

async function checkCodeBlock(text: string, language: string | undefined): Promise<Verdict> {
  const { code, tag } = codeOf(text);
  if (code.trim() === '') return wrong('there is no code');
  const verdict = await checkCode(code, language ?? tag);
  if (!verdict.known) return { form: 'unknown' };
  return verdict.problem === undefined ? right : wrong(verdict.problem);
}

/** The first fenced block, or all of it where there is none. */
function codeOf(text: string): { code: string; tag: string | undefined } {
  const [, tag, fenced] = /^ {0,3}```([^\s`]*)[^\n]*\n([\s\S]*?)(?:^ {0,3}```\s*$|(?![\s\S]))/m.exec(text) ?? [];
  return { code: fenced ?? text, tag: tag === undefined || tag === '' ? undefined : tag };
}
