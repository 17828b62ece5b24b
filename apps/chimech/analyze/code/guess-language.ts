// Which language a piece of code is written in: the parser that stumbles least, with what only that language says.
import { codeLanguages, type CodeLanguage } from './code-structure.js';
import { parseCode, readableLength } from './parse-code.js';

/** Characters from the start that are looked at. */
const sample = 4_000;
/** And of what no language can read. */
const damagedSample = 1_000;
/** Errors that a mark weighs. */
const markWeight = 3;

const marks: Record<CodeLanguage, RegExp[]> = {
  typescript: [
    /^(?:export )?(?:declare )?(?:interface|type|enum|namespace|abstract class) \w/m,
    /\)\s?: ?[\w.<>[\]| ]{1,60} ?(?:\{|=>)/,
    /\b(?:const|let|private|public|readonly) \w+\??: ?\w/,
    /^import type /m,
    /\w\??: ?(?:string|number|boolean|unknown|void)\b/,
  ],
  javascript: [
    /\b(?:const|let|var) [\w{[]/,
    /=>/,
    /\bfunction\b ?\*? ?\w*\(/,
    /\brequire\(|module\.exports/,
    /^(?:import|export) .{0,200}\bfrom ['"]/m,
    /===/,
  ],
  python: [
    /^[ \t]*(?:async )?def \w+\(/m,
    /^[ \t]*class \w+.{0,80}:$/m,
    /^from [\w.]+ import /m,
    /^import [\w.]+( as \w+)?$/m,
    /^[ \t]*(?:if|for|while|elif|with) .{1,200}:$/m,
    /\bself\.|^[ \t]*elif /m,
  ],
  go: [
    /^package \w+$/m,
    /^func (?:\(\w+ \*?\w+\) )?\w+[([]/m,
    /:= /,
    /^import \(?$|^import "/m,
    /^type \w+ (?:struct|interface) \{/m,
  ],
  java: [
    /^(?:import|package) [\w.]+(?:\.\*)?;$/m,
    /\b(?:public|private|protected) (?:static |final |abstract )*(?:class|interface|enum|record|void|[A-Z]\w*) /,
    /\bSystem\.out\.|@Override/,
    /\bnew [A-Z]\w*[<(]/,
  ],
  rust: [
    /\bfn \w+(?:<[^>\n]{1,80}>)?\(/,
    /\blet mut \w|\bimpl\b/,
    /^(?:pub )?(?:use|mod|struct|enum|trait) [\w:]+/m,
    /->.{1,60}\{$|&(?:mut |str\b|self\b)/m,
    /\b\w+!\(|::\w/,
  ],
};

/** Undefined: no language fits. */
export async function guessLanguage(content: string): Promise<CodeLanguage | undefined> {
  const part = content.length > sample ? content.slice(0, content.lastIndexOf('\n', sample) + 1 || sample) : content;
  const marked = codeLanguages
    .map((language) => ({ language, count: marks[language].filter((mark) => mark.test(part)).length }))
    .sort((a, b) => b.count - a.count);
  const isScript = marks.javascript.some((mark) => mark.test(part));
  const likely = marked.filter(({ language, count }) => count > 0 || (language === 'typescript' && isScript));
  // The cut end of a longer text is no error.
  const end = part.trimEnd().length;
  for (const { language } of likely) {
    if ((await readableLength(part, language)) >= end) return await scriptOr(language, part);
  }
  return await leastDamaged(part.slice(0, damagedSample), likely.length > 0 ? likely : marked);
}

const typed =
  /^(?:TypeAnnotation|TypeAliasDeclaration|InterfaceDeclaration|EnumDeclaration|TypeArgList|AmbientDeclaration)$/;

/** What has no types is JavaScript, whose parser reads some types too. */
async function scriptOr(language: CodeLanguage, part: string): Promise<CodeLanguage> {
  if (language !== 'typescript' && language !== 'javascript') return language;
  const { tree } = await parseCode(part, 'typescript');
  let hasTypes = false;
  tree.iterate({
    enter: ({ name }) => {
      hasTypes ||= typed.test(name);
    },
  });
  return hasTypes ? 'typescript' : 'javascript';
}

async function leastDamaged(
  part: string,
  candidates: readonly { language: CodeLanguage; count: number }[],
): Promise<CodeLanguage | undefined> {
  let best: { language: CodeLanguage; score: number } | undefined;
  for (const { language, count } of candidates) {
    const { errors } = await parseCode(part, language);
    const score = errors - markWeight * count;
    if (best === undefined || score < best.score) best = { language, score };
  }
  const lines = part.split('\n').filter((line) => line.trim() !== '').length;
  if (best === undefined || best.score >= lines) return undefined;
  return best.language;
}
