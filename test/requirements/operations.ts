export const operationsRequirements = {
  'operations.config-all-problems-at-once':
    'everything that is wrong with a configuration is listed at once, with its key, its origin and the nearest known key',
  'operations.config-builtin-server':
    'the builtin workspace server is configured unless disabled or replaced',
  'operations.config-check':
    'npm run config check prints what is in force, secrets masked, with origins, or every problem',
  'operations.config-every-key-by-environment':
    'every key can be set by an environment variable with a regular name',
  'operations.config-loopback':
    'outside loopback without keys the start is refused unless AUTH_MODE=off is said',
  'operations.config-origins':
    'every value knows where it came from',
  'operations.config-pasted-servers':
    'mcpServers of Claude Desktop and Cursor can be pasted',
  'operations.config-precedence':
    'the environment wins over the file, the file over the defaults',
  'operations.config-provider-by-key':
    "each provider's key alone switches it on",
  'operations.config-secrets-by-file':
    'secrets come from the environment or *_FILE, never literally from the file',
  'operations.config-secrets-unprintable':
    'no secret of the configuration is ever printed',
  'operations.config-variables':
    '${NAME} in the file is expanded from the environment; an unset one is an error',
  'operations.data-dir-unusable':
    'a data directory that cannot be used is told as such, naming DATA_DIR',
  'operations.docs-current':
    'documents that are made from the code are current',
  'operations.errors-one-table':
    'error table, documentation and metric labels list the same codes',
  'operations.health-cheap':
    'readiness is answered in a moment, however many ask and whatever hangs',
  'operations.health-degraded':
    'what only tools need makes readiness degraded with its reason, never 503',
  'operations.health-ready':
    'readiness is 503 only where a plain chat cannot be served',
  'operations.log-bounds':
    'no value makes a log line long, or ends the process',
  'operations.log-content':
    'what tools were given and gave is logged only when asked for',
  'operations.log-forgery':
    'no value can forge a log line or repaint a terminal',
  'operations.log-line':
    'a log line has exactly the specified fields',
  'operations.log-secrets':
    'no secret reaches the log',
  'operations.metrics-access':
    'metrics are for this machine, else for who has the token',
  'operations.metrics-bounded':
    'no caller can make metric series without end',
  'operations.metrics-model-call':
    'every model call is counted, timed and logged once',
  'operations.metrics-names':
    'the metrics of the specification are exported',
  'operations.metrics-never-block':
    'a scrape never waits for a source that does not answer',
  'operations.metrics-tool-call':
    'every tool call is counted, timed and logged once',
  'operations.metrics-turn':
    'every chat turn is counted, timed and logged once, however it ends',
  'operations.open-api-routes':
    'the OpenAPI document describes every route of the gateway',
  'operations.open-api-served':
    'the API pages are served without any network, to who may see them',
  'operations.postgres-crash-blocks-nothing':
    'what a crash of ours leaves of the database blocks no later start',
  'operations.postgres-crash-told':
    'a database that ends by itself is told to its owner, and its data is there next time',
  'operations.postgres-ends-with-owner':
    'the embedded database ends when its owner is killed',
  'operations.postgres-locked-down':
    'the embedded database listens on loopback only, to a role without privileges with a random password',
  'operations.postgres-ordinary-user':
    'the embedded database runs as an ordinary user',
  'operations.postgres-read-only-binaries':
    'the embedded database starts from binaries that cannot be written',
  'operations.postgres-restart-keeps-data':
    'the embedded database keeps its data over a restart',
  'operations.postgres-root':
    'the embedded database runs as root, also below directories that others cannot enter',
  'operations.postgres-second-start':
    'a second start on a data directory says that Signalbox runs there already',
  'operations.postgres-taken-port':
    'a taken port does not keep the embedded database from starting',
  'operations.postgres-two-first-starts':
    'two first starts at once make one database',
  'operations.start-gives-up':
    'npm start ends everything, with the reason, when a part ends five times in a row',
  'operations.start-leaves-nothing':
    'however npm start ends, nothing of it keeps running',
  'operations.start-one-key-press':
    'one Ctrl-C that arrives twice is one',
  'operations.start-restarts':
    'npm start starts again what ended, and says so',
  'operations.start-says-what-runs':
    'npm start prints what it started, the isolation level and a request to try',
  'operations.start-second-signal':
    'a second signal stops npm start at once',
  'operations.start-stops-in-order':
    'npm start stops the gateway, then the worker, then the database',
  'operations.start-taken-port':
    'a taken port is told with who has it and which setting moves it',
  'schemas.usage-sums':
    'usage of two rounds is summed member by member, details included',
} as const;
