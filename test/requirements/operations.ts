export const operationsRequirements = {
  'costs.counted': 'the promises and kilobytes that a request makes in gateway and worker do not grow',
  'operations.milestones':
    'at debug the log reports the first token of a turn, the complete arguments of each call, and the end of each round',
  'operations.config-all-problems-at-once':
    'everything that is wrong with a configuration is listed at once, with its key, its origin and the nearest known key',
  'operations.config-builtin-server': 'the builtin workspace server is configured unless disabled or replaced',
  'operations.config-check':
    'npm run config check prints what is in force, secrets masked, with origins, or every problem',
  'operations.config-every-key-by-environment': 'every key can be set by an environment variable with a regular name',
  'operations.config-loopback': 'outside loopback without keys the start is refused unless AUTH_MODE=off is said',
  'operations.config-names':
    'a name in the configuration that objects have themselves is refused by its path or works, and is never dropped',
  'operations.config-origins': 'every value knows where it came from',
  'operations.config-pasted-servers': 'mcpServers of Claude Desktop and Cursor can be pasted',
  'operations.config-precedence': 'the environment wins over the file, the file over the defaults',
  'operations.config-provider-by-key': "each provider's key alone switches it on",
  'operations.config-reload':
    'SIGHUP and a changed file put tool servers into force without a restart; what needs one is named, a bad file changes nothing and is reported',
  'operations.config-secrets-by-file': 'secrets come from the environment or *_FILE, never literally from the file',
  'operations.config-secrets-unprintable': 'no secret of the configuration is ever printed',
  'operations.config-variables': '${NAME} in the file is expanded from the environment; an unset one is an error',
  'operations.data-dir-unusable': 'a data directory that cannot be used is reported as such, naming DATA_DIR',
  'operations.docs-current': 'documents that are made from the code are current',
  'operations.errors-one-table': 'error table, documentation and metric labels list the same codes',
  'operations.env-file':
    'every command reads .env of its working directory; the environment wins, a broken line is an error',
  'operations.health-cheap': 'readiness is answered in a moment, however many ask and whatever hangs',
  'operations.health-degraded': 'what only tools need makes readiness degraded with its reason, never 503',
  'operations.health-full': 'readiness says that the queue is full while it still answers',
  'operations.health-ready': 'readiness is 503 only where a plain chat cannot be served',
  'operations.log-bounds': 'no value makes a log line long, or ends the process',
  'operations.log-content': 'what tools were given and gave is logged only when asked for',
  'operations.log-forgery': 'no value can forge a log line or repaint a terminal',
  'operations.log-kinds': 'requests, model calls and tool calls have one line each, in the documented form',
  'operations.log-line': 'a log line has exactly the specified fields',
  'operations.log-repeats': 'what is away is reported at growing intervals, however often it is met',
  'operations.log-secrets': 'no secret reaches the log',
  'operations.log-unread': 'a log that nobody reads takes a bounded amount of memory, and holds nothing up',
  'operations.metrics-access': 'metrics are for this machine, else for who has the token',
  'operations.metrics-bounded': 'no caller can make metric series without end',
  'operations.metrics-model-call': 'every model call is counted, timed and logged once',
  'operations.metrics-move': 'every metric whose cause there was has moved by it',
  'operations.metrics-names': 'the metrics of the specification are exported',
  'operations.metrics-never-block': 'a scrape never waits for a source that does not answer',
  'operations.metrics-port': 'with METRICS_PORT the metrics are on that port, and nothing else is',
  'operations.metrics-tool-call': 'every tool call is counted, timed and logged once',
  'operations.metrics-turn': 'every chat turn is counted, timed and logged once, however it ends',
  'operations.models-health':
    'administrators read how providers, aliases and prices do, as the gateway that answers has seen them, without a secret',
  'operations.settings':
    'administrators read the settings in force, their origin, versions and health, without a secret',
  'operations.open-api-routes': 'the OpenAPI document describes every route of the gateway',
  'operations.open-api-served': 'the API pages are served without any network, to who may see them',
  'operations.operator-routes':
    'routes of the operator answer other callers with 401 or 403 in the usual shape, in gateway and worker',
  'operations.open-api-true': 'what the gateway answers is what the OpenAPI document says',
  'operations.postgres-crash-blocks-nothing': 'what a crash of ours leaves of the database blocks no later start',
  'operations.postgres-crash-reported':
    'a database that ends by itself is reported to its owner, and its data is there next time',
  'operations.postgres-ends-with-owner': 'the embedded database ends when its owner is killed',
  'operations.postgres-locked-down':
    'the embedded database listens on loopback only, to a role without privileges with a random password',
  'operations.postgres-ordinary-user': 'the embedded database runs as an ordinary user',
  'operations.postgres-read-only-binaries': 'the embedded database starts from binaries that cannot be written',
  'operations.postgres-restart-keeps-data': 'the embedded database keeps its data over a restart',
  'operations.postgres-root': 'the embedded database runs as root, also below directories that others cannot enter',
  'operations.postgres-second-start': 'a second start on a data directory says that Signalbox runs there already',
  'operations.postgres-taken-port': 'a taken port does not keep the embedded database from starting',
  'operations.postgres-two-first-starts': 'two first starts at once make one database',
  'operations.redis-sentinel': 'a Redis that sentinels watch over is followed to its new master',
  'operations.redis-unusable': 'a Redis that cannot be used ends the start with the reason, without its password',
  'operations.redis-url':
    'an address of Redis that cannot be read is reported with what is wrong, without its password',
  'operations.redis-warnings': 'a Redis that may lose jobs is warned of, with what to set',
  'operations.program':
    'every command is one program’s, signalbox, with help, an example and sentences for what goes wrong',
  'operations.doctor-arrivals':
    'signalbox doctor server NAME shows what arrives of whom a call is made for, no secret, and fails if something of it does not',
  'operations.doctor-server':
    'signalbox doctor server NAME says what is met at a tool server, who signs people in there, and what it is told of a caller',
  'operations.doctor':
    'signalbox doctor says what stops a start on this machine, with what to do, and exits with 1 then',
  'operations.package':
    'npm pack gives a package that starts and answers without a build and without development packages',
  'operations.start-builds':
    'npm start builds first what is missing or was made from other sources, by their contents, where it can',
  'operations.start-gives-up': 'npm start ends everything, with the reason, when a part ends five times in a row',
  'operations.start-leaves-nothing': 'however npm start ends, nothing of it keeps running',
  'operations.replay': 'npm run replay runs a stored turn against its recorded results, and shows both side by side',
  'operations.start-one-key-press': 'one Ctrl-C that arrives twice is one',
  'operations.start-ready': 'npm start calls ready what answers on its own port itself',
  'operations.start-reloads': 'npm start passes SIGHUP on to its services; the end of its terminal still stops it',
  'operations.start-restarts': 'npm start starts again what ended, and says so',
  'operations.start-says-what-runs': 'npm start prints what it started, the isolation level and a request to try',
  'operations.start-second-signal': 'a stop of npm start says what it waits for, and a second signal ends it at once',
  'operations.start-stops-in-order': 'npm start stops the gateway, then the worker, then the database',
  'operations.start-taken-port': 'a taken port is reported with who has it and which setting moves it',
  'schemas.usage-sums': 'usage of two rounds is summed member by member, details included',
  'operations.traces':
    'one trace leads from the request through the queue to the MCP call and the model call, each given the traceparent of its own span',
  'operations.traces-collector':
    'a collector that is away or hangs holds up neither requests nor a stop; what it missed is counted and logged',
  'operations.traces-content': 'spans carry names, ids, counts and codes, never content and no secret',
  'operations.traces-off': 'without an endpoint no SDK of OpenTelemetry is loaded, and a traceparent passes unchanged',
} as const;
