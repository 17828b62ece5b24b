export const consoleKeysRequirements = {
  'console.api-keys':
    'Keys makes, shows, rotates and revokes API keys; a key is shown once, and the first one locks nobody out',
  'console.usage':
    'Usage shows requests, tokens and cost as SQL has them, budgets with their forecast, and exports CSV',
} as const;
