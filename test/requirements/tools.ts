export const toolRequirements = {} as const;
