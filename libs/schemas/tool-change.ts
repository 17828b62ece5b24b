// What may become of a definition after it was approved.

/** `cosmetic`: white space; `wording`: title and description; `contract`: schemas, annotations. */
export const changeGrades = ['cosmetic', 'wording', 'contract', 'new', 'removed'] as const;
export type ChangeGrade = (typeof changeGrades)[number];

export type ChangePolicy = Readonly<Record<ChangeGrade, 'allow' | 'hold'>>;

/** What has become of a change: by the policy the first two, by an operator the others. */
export const changeOutcomes = ['allowed', 'held', 'accepted', 'rejected'] as const;
export type ChangeOutcome = (typeof changeOutcomes)[number];
