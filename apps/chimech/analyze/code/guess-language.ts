// Which language a piece of code is written in: the parser that stumbles least, with what only that language says.
import { codeLanguages, type CodeLanguage } from './code-structure.js';
import { grammars } from './grammars.js';

/** Characters from the start that are looked at. */
const sample = 8_000;
/** Errors that a mark weighs. */
const markWeight = 3;

const marks: Record<CodeLanguage, RegExp[]> = {
  typescript: [
    /^(?:export )?(?:declare )?(?:interface|type|enum|namespace|abstract class) \w/m,
    /\)\s?: ?[\w<>[\]| ]{1,60} ?(?:\{|=>)/,
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

/** Undefined: no language fits. TypeScript that is plain JavaScript is JavaScript. */
export async function guessLanguage(content: string): Promise<CodeLanguage | undefined> {
  const part = content.length > sample ? content.slice(0, content.lastIndexOf('\n', sample) + 1 || sample) : content;
  const scores = new Map<CodeLanguage, { errors: number; score: number }>();
  for (const language of codeLanguages) {
    const errors = await countErrors(part, language);
    const marked = marks[language].filter((mark) => mark.test(part)).length;
    scores.set(language, { errors, score: errors - markWeight * marked });
  }
  const script = scores.get('javascript')!;
  // What is right in TypeScript alone has types; what is right in both is JavaScript.
  if (scores.get('typescript')!.errors >= script.errors && !marks.typescript.some((mark) => mark.test(part))) {
    scores.delete('typescript');
  } else script.score = Math.max(script.score, scores.get('typescript')!.score + 1);
  const [language, { errors }] = [...scores].sort(([, a], [, b]) => a.score - b.score)[0]!;
  const lines = part.split('\n').filter((line) => line.trim() !== '').length;
  return errors >= lines ? undefined : language;
}

async function countErrors(content: string, language: CodeLanguage): Promise<number> {
  const parser = await grammars[language].load();
  let errors = 0;
  parser.parse(content).iterate({
    enter: ({ type }) => {
      if (type.isError) errors += 1;
    },
  });
  return errors;
}
