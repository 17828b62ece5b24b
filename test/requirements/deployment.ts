export const deploymentRequirements = {
  'deployment.stop-quiet-connections': 'a connection on which nothing is being asked does not hold up a stop',
} as const;
