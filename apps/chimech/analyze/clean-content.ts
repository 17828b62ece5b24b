// Content as the parsers take it: one form of line ends, no byte order mark, no NUL; problems are reported.
import { countForeign, isUnreadable, withoutForeignCharacters } from '../readable-text.js';
import { AnalyzeError } from './analyze-error.js';
import { counted } from './counted.js';
import { say } from '../language.js';
import { answerLanguageOf } from './text/detect-language.js';

/** UTF-8 that was read as Latin-1 or Windows-1252: "Ã©", "â€™", "ä¸­"; and as GBK. */
const misread = /[\u00c2-\u00f4][\u0080-\u00bf\u20ac\u2122\u0153\u02dc]|锟斤拷/g;
const unreadable = {
  en: 'The content is not text: it is binary, or was decoded with the wrong encoding. Send it as UTF-8 text',
  zh: '内容不是文本：它是二进制数据，或者读取时用错了编码。请以 UTF-8 文本发送',
};

/** @throws AnalyzeError INVALID_PARAMS: empty, or no text at all. */
export function cleanContent(raw: string): { content: string; warnings: string[] } {
  const answerLanguage = answerLanguageOf(raw);
  const text = raw.replace(/^\ufeff/, '').replace(/\r\n?/g, '\n');
  const odd = countForeign(text);
  if (isUnreadable(text, odd)) {
    throw new AnalyzeError(unreadable, 'INVALID_PARAMS', { unreadable: odd, characters: text.length });
  }
  const content = odd === 0 ? text : withoutForeignCharacters(text);
  if (content.trim() === '') {
    throw new AnalyzeError({ en: 'The content is empty', zh: '内容为空' }, 'INVALID_PARAMS');
  }
  const warnings: string[] = [];
  if (odd > 0) {
    warnings.push(
      say(answerLanguage, {
        en: `${counted(odd, 'character')} could not be read (control characters, or the wrong encoding)`,
        zh: `${odd} 个字符无法识别（控制字符或编码错误）`,
      }),
    );
  }
  const garbled = content.match(misread)?.length ?? 0;
  if (garbled >= 3 && garbled > content.length / 100) {
    warnings.push(
      say(answerLanguage, {
        en: 'The content looks like UTF-8 that was decoded with another encoding',
        zh: '内容看起来是以其他编码读取的 UTF-8 文本',
      }),
    );
  }
  return { content, warnings };
}
