export const reliabilityRequirements = {} as const;
