// docs/deployment-checklist.md as tests read it: what is to be checked, and the commands that check it.
import { readText } from './deployment-files.js';

export interface ChecklistItem {
  text: string;
  /** What stands in code in its text; some of it is what a command prints. */
  code: readonly string[];
}

export function checklist(): ChecklistItem[] {
  const [, ...items] = readText('docs/deployment-checklist.md').split(/^- \[ \] /m);
  return items.map((item) => {
    const text = item.split(/\n(?:\n|#)/)[0]!.replaceAll(/\n\s+/g, ' ');
    return { text, code: [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code!) };
  });
}

/** Commands to the gateway that need nothing but it. */
export const gatewayCommands = (): string[] =>
  checklist().flatMap(({ code }) =>
    code.filter((each) => /^(?:curl|OPENAI_API_KEY=\w+) .*127\.0\.0\.1:8000/.test(each)),
  );
