export const modelRequirements = {} as const;
