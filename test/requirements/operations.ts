export const operationsRequirements = {
  'operations.config-all-problems-at-once':
    'everything that is wrong with a configuration is listed at once, with its key, its origin and the nearest known key',
  'operations.config-check':
    'npm run config check prints what is in force, secrets masked, with origins, or every problem',
  'operations.config-builtin-server': 'the builtin workspace server is configured unless disabled or replaced',
  'operations.config-every-key-by-environment': 'every key can be set by an environment variable with a regular name',
  'operations.config-loopback': 'outside loopback without keys the start is refused unless AUTH_MODE=off is said',
  'operations.config-origins': 'every value knows where it came from',
  'operations.config-pasted-servers': 'mcpServers of Claude Desktop and Cursor can be pasted',
  'operations.config-precedence': 'the environment wins over the file, the file over the defaults',
  'operations.config-provider-by-key': "each provider's key alone switches it on",
  'operations.config-secrets-by-file': 'secrets come from the environment or *_FILE, never literally from the file',
  'operations.config-secrets-unprintable': 'no secret of the configuration is ever printed',
  'operations.config-variables': '${NAME} in the file is expanded from the environment; an unset one is an error',
  'operations.docs-current': 'documents that are made from the code are current',
  'operations.errors-one-table': 'error table, documentation and metric labels list the same codes',
  'operations.log-bounds': 'no value makes a log line long, or ends the process',
  'operations.log-forgery': 'no value can forge a log line or repaint a terminal',
  'operations.log-line': 'a log line has exactly the specified fields',
  'operations.log-secrets': 'no secret reaches the log',
  'schemas.usage-sums': 'usage of two rounds is summed member by member, details included',
} as const;
