// Prompts and instructions as pinned definitions: both reach the models of clients as descriptions of tools do, so their changes are held
// back in the same way.
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import { nameOfPrompt, type PublishedPrompt, type ServerOffers } from '#libs/runs/catalog/server-offers.js';
import type { Pinned } from './plan-publication.js';
import type { ListedDefinition } from './read-definitions.js';

export const pinnedPrompts: Pinned<PublishedPrompt> = {
  kindOf: (name) => (name === '' ? 'instructions' : 'prompt'),
  publish: (definition) => definition as PublishedPrompt,
  nameOf: nameOfPrompt,
  isOffered: () => true,
};

/** The last one is that of the instructions. `_meta` is no part of what is pinned. */
export function promptDefinitions({
  prompts,
  instructions,
}: Pick<ServerOffers, 'prompts' | 'instructions'>): ListedDefinition[] {
  const all: PublishedPrompt[] = instructions === undefined ? prompts : [...prompts, { instructions }];
  return all.map((definition) => {
    const { _meta, ...pinned } = definition;
    return { tool: nameOfPrompt(definition), definition, hash: canonicalHash(pinned) };
  });
}
