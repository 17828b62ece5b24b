export const chatRequirements = {} as const;
