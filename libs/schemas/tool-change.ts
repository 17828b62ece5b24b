// The kinds of changes of an approved definition, the states of such a change, and what is defined.

/** `cosmetic`: white space; `wording`: title and description; `contract`: schemas, annotations. */
export const changeGrades = ['cosmetic', 'wording', 'contract', 'new', 'removed'] as const;
export type ChangeGrade = (typeof changeGrades)[number];

export type ChangePolicy = Readonly<Record<ChangeGrade, 'allow' | 'hold'>>;

/** Status of a change: the policy sets the first two, an operator the others. */
export const changeOutcomes = ['allowed', 'held', 'accepted', 'rejected'] as const;
export type ChangeOutcome = (typeof changeOutcomes)[number];

/** Tools, prompts, and what a server tells clients about itself, which has no name. */
export const definitionKinds = ['tool', 'prompt', 'instructions'] as const;
export type DefinitionKind = (typeof definitionKinds)[number];

/** How logs name it. */
export const shownDefinition = (kind: DefinitionKind, name: string): string =>
  kind === 'tool' ? name : `${kind} ${name}`.trimEnd();
