// The kinds of changes of an approved definition, and the states of such a change.

/** `cosmetic`: white space; `wording`: title and description; `contract`: schemas, annotations. */
export const changeGrades = ['cosmetic', 'wording', 'contract', 'new', 'removed'] as const;
export type ChangeGrade = (typeof changeGrades)[number];

export type ChangePolicy = Readonly<Record<ChangeGrade, 'allow' | 'hold'>>;

/** Status of a change: the policy sets the first two, an operator the others. */
export const changeOutcomes = ['allowed', 'held', 'accepted', 'rejected'] as const;
export type ChangeOutcome = (typeof changeOutcomes)[number];
