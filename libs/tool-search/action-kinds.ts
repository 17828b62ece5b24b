// What a tool does to what it works with, by the verb in its name, and what a question wants done: whoever asks which boards there are wants
// none made or deleted. Verbs that fit no kind say nothing.
import type { QueryWord } from './query-words.js';
import { indexedForm, splitWord } from './read-words.js';

type ActionKind = 'reads' | 'writes' | 'removes';

const verbs: Record<ActionKind, string> = {
  reads:
    'get list read show view find search query lookup describe fetch retrieve check browse inspect count examine download export',
  writes:
    'create add new insert make generate compose register upload append update edit set change modify patch rename move replace put send post reply forward publish assign schedule import',
  removes: 'delete remove drop clear erase purge trash uninstall destroy revoke',
};

const kinds = new Map<string, ActionKind>();
for (const [kind, words] of Object.entries(verbs) as [ActionKind, string][])
  for (const word of words.split(' ').flatMap(indexedForm)) kinds.set(word, kind);

/** What the first verb of the name says. */
export function kindOfTool(name: string): ActionKind | undefined {
  const words = name
    .split(/[^\p{L}\p{N}]+/u)
    .flatMap(splitWord)
    .flatMap(indexedForm);
  return words.map((word) => kinds.get(word)).find((kind) => kind !== undefined);
}

/** All that is asked for, by the terms that are the words themselves; empty if no verb says it. */
export function kindsOfQuery(words: readonly QueryWord[]): Set<ActionKind> {
  const asked = new Set<ActionKind>();
  for (const { terms } of words) {
    for (const [term, share] of terms) {
      const kind = share === 1 ? kinds.get(term) : undefined;
      if (kind !== undefined) asked.add(kind);
    }
  }
  return asked;
}
