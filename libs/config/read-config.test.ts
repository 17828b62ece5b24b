import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { ConfigError } from './config-error.js';
import { environmentName, environmentSettings } from './environment.js';
import { readConfig, readConfigWithOrigins, type ConfigSource } from './read-config.js';
import { secretValues } from './secrets.js';

const file = (text: string) => ({ path: 'signalbox.yaml', text });
const read = (environment: Record<string, string> = {}, text = '') => readConfig({ environment, file: file(text) });

function problemsOf(source: ConfigSource): ConfigError {
  try {
    readConfig(source);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return error as ConfigError;
  }
  throw new Error('the configuration was taken');
}
const linesOf = (environment: Record<string, string>, text = '') =>
  problemsOf({ environment, file: file(text) })
    .message.split('\n')
    .slice(1);

describe('precedence', () => {
  verifies('operations.config-precedence', 'default, file, environment', () => {
    expect(read().server.port).toBe(8000);
    expect(read({}, 'server: { port: 9000 }').server.port).toBe(9000);
    expect(read({ PORT: '9001' }, 'server: { port: 9000 }').server.port).toBe(9001);
    expect(read({ PORT: '' }, 'server: { port: 9000 }').server.port).toBe(9000);
  });

  verifies('operations.config-every-key-by-environment', 'every key has one name of its own', () => {
    const names = [...environmentSettings.keys()];
    expect(new Set(names).size).toBe(names.length);
    const fixed = `HOST PORT DATA_DIR DATABASE_URL REDIS_URL WORKSPACES_DIR DEFAULT_MODEL AUTH_MODE ALLOWED_ORIGINS
      MIN_ISOLATION AUDIT LOG_LEVEL LOG_CONTENT OTEL_EXPORTER_OTLP_ENDPOINT METRICS_TOKEN LIMITS_ROUNDS
      TOOLS_MAX_RESULT_BYTES SERVER_SHUTDOWN_GRACE_MS MCP_SERVERS`.split(/\s+/);
    expect(fixed.filter((name) => !environmentSettings.has(name))).toEqual([]);
    expect(environmentName(['tools', 'max_result_bytes'])).toBe('TOOLS_MAX_RESULT_BYTES');
  });

  verifies('operations.config-every-key-by-environment', 'texts become numbers, switches, lists and maps', () => {
    const config = read({
      LIMITS_ROUNDS: '3',
      LOG_CONTENT: '1',
      AUDIT: 'off',
      ALLOWED_ORIGINS: 'https://a.example, https://b.example',
      MODELS_ALIASES: '{"best":["openai/a","openai/b"]}',
      POLICY_RULES: '[{"name":"deletions","tool":"*/delete_*","effect":"deny"}]',
    });
    expect(config.policy.rules).toMatchObject([{ name: 'deletions', tool: '*/delete_*', effect: 'deny' }]);
    expect(config.limits.rounds).toBe(3);
    expect(config.log.content).toBe(true);
    expect(config.audit.enabled).toBe(false);
    expect(config.server.allowed_origins).toEqual(['https://a.example', 'https://b.example']);
    expect(config.models.aliases).toEqual({ best: ['openai/a', 'openai/b'] });
  });

  test('a map in the environment adds to the one of the file', () => {
    const config = read({ MODELS_ALIASES: '{"b":"x/b"}' }, 'models: { aliases: { a: x/a } }');
    expect(config.models.aliases).toEqual({ a: 'x/a', b: 'x/b' });
  });

  verifies('operations.config-origins', 'file line, variable, secret file', () => {
    const { origins } = readConfigWithOrigins({
      environment: { LIMITS_ROUNDS: '3', DATABASE_URL_FILE: '/run/secrets/db' },
      file: file('log:\n  level: warn\n'),
      readSecretFile: () => 'postgres://u:p@db/x\n',
    });
    expect(origins.get('log.level')).toBe('signalbox.yaml:2');
    expect(origins.get('limits.rounds')).toBe('environment LIMITS_ROUNDS');
    expect(origins.get('database.url')).toBe('environment DATABASE_URL_FILE');
    expect(origins.has('server.port')).toBe(false);
  });
});

describe('providers', () => {
  verifies('operations.config-provider-by-key', 'each key alone, with its quirks', () => {
    const { providers } = read({
      OPENAI_API_KEY: 'sk-1',
      ANTHROPIC_API_KEY: 'sk-2',
      GEMINI_API_KEY: 'sk-3',
      DEEPSEEK_API_KEY: 'sk-4',
      OLLAMA_BASE_URL: 'http://127.0.0.1:11434',
    }).models;
    expect(Object.keys(providers)).toEqual(['openai', 'anthropic', 'gemini', 'deepseek', 'ollama']);
    expect(providers['deepseek']).toMatchObject({ kind: 'openai', reasoning_replay: 'always', api_key: 'sk-4' });
    expect(providers['ollama']).toMatchObject({ kind: 'openai', base_url: 'http://127.0.0.1:11434/v1' });
    expect(read().models.providers).toEqual({});
  });

  test('the file keeps its say, and a key that it uses makes no second provider', () => {
    const text = 'models: { providers: { claude: { kind: anthropic, api_key: "${ANTHROPIC_API_KEY}" } } }';
    expect(Object.keys(read({ ANTHROPIC_API_KEY: 'sk-2' }, text).models.providers)).toEqual(['claude']);
    const own = 'models: { providers: { openai: { kind: openai, base_url: "http://10.0.0.1/v1" } } }';
    expect(read({ OPENAI_API_KEY: 'sk-1' }, own).models.providers['openai']).toMatchObject({
      base_url: 'http://10.0.0.1/v1',
      api_key: 'sk-1',
    });
  });

  test('a provider of the file that uses a known name for another family is left alone', () => {
    const own = 'models: { providers: { gemini: { kind: openai, base_url: "http://10.0.0.1/v1" } } }';
    expect(read({ GEMINI_API_KEY: 'sk-1' }, own).models.providers['gemini']!.api_key).toBeUndefined();
  });

  test('OPENAI_BASE_URL moves the provider', () => {
    const { providers } = read({ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' }).models;
    expect(providers['openai']!.base_url).toBe('http://127.0.0.1:9/v1');
  });
});

describe('servers', () => {
  verifies('operations.config-builtin-server', 'there unless disabled or replaced', () => {
    expect(read().mcpServers['workspace']).toMatchObject({ builtin: 'workspace', enabled: true });
    expect(read({}, 'mcpServers: { workspace: { enabled: false } }').mcpServers['workspace']!.enabled).toBe(false);
    expect(Object.keys(read({}, 'mcpServers: { files: { builtin: workspace } }').mcpServers)).toEqual(['files']);
    const replaced = read({}, 'mcpServers: { workspace: { command: my-server } }').mcpServers['workspace']!;
    expect(replaced.builtin).toBeUndefined();
  });

  verifies('operations.config-pasted-servers', 'the shape of Claude Desktop and Cursor', () => {
    const pasted = JSON.stringify({
      mcpServers: {
        files: { type: 'stdio', command: 'npx', args: ['-y', 'a-server', '${WORKSPACE}'], env: { A: '${TOKEN}' } },
        docs: {
          type: 'streamable-http',
          url: 'https://example.com/mcp',
          headers: { Authorization: 'Bearer ${TOKEN}' },
        },
        old: { type: 'sse', url: 'https://example.com/sse', disabled: true },
      },
    });
    const servers = read({ TOKEN: 'token-1' }, pasted).mcpServers;
    expect(Object.keys(servers)).toEqual(['workspace', 'files', 'docs', 'old']);
    expect(servers['files']).toMatchObject({ args: ['-y', 'a-server', '${WORKSPACE}'], env: { A: 'token-1' } });
    expect(servers['docs']).toMatchObject({ transport: 'http', headers: { Authorization: 'Bearer token-1' } });
    expect(servers['old']).toMatchObject({ transport: 'sse', enabled: false });
  });

  test('a server is one thing', () => {
    expect(linesOf({}, 'mcpServers: { a: { command: x, url: "http://h/" }, b: {} }')).toEqual([
      '  mcpServers.a: needs one of builtin, command, url, openapi; it has command and url (signalbox.yaml:1)',
      '  mcpServers.b: needs one of builtin, command, url, openapi; it has none of them (signalbox.yaml:1)',
    ]);
  });
});

verifies('operations.config-pasted-servers', "Cursor's way of naming a variable", () => {
  const text = 'mcpServers: { a: { url: "https://h/", headers: { Authorization: "Bearer ${env:TOKEN}" } } }';
  expect(read({ TOKEN: 't' }, text).mcpServers['a']!.headers).toMatchObject({ Authorization: 'Bearer t' });
  expect(linesOf({}, text)).toEqual([expect.stringContaining('the variable TOKEN is not set')]);
});

verifies('operations.config-all-problems-at-once', 'each once, in words that help, whatever the file is', () => {
  const lines = linesOf(
    { DATABASE_URL: 'db.example:5432/x' },
    `server: []
models: { providers: { a: { kind: openai, base_url: "http://h/v1", api_key: "\${KEY}" } }, aliases: { b: [] } }
mcpServers: { c: { command: x, args: y, autoApprove: [] } }`,
  );
  expect(lines.map((line) => line.replace(/ \([^)]*\)$/, ''))).toEqual([
    '  models.providers.a.api_key: the variable KEY is not set',
    '  server: must be a map, got a list',
    '  models.aliases.b: must not be empty, got a list',
    '  mcpServers.c.args: must be a list, got "y"',
    '  mcpServers.c.autoApprove: is not a known key',
  ]);
  for (const url of ['db.example:5432/x', 'mysql://db/x', 'postgres://u:p/w@h/d'])
    expect(linesOf({ DATABASE_URL: url })).toEqual([expect.stringMatching(/^ {2}database.url: must be postgres:/)]);
  expect(linesOf({}, 'a: &a [*a]')).toEqual(['  signalbox.yaml: has a value that contains itself']);
});

describe('variables in the file', () => {
  verifies('operations.config-variables', 'expanded, with fallback, and as numbers', () => {
    const text = 'server: { port: "${MY_PORT}" }\nlog: { level: "${LEVEL:-warn}" }\ndata_dir: "a/${X}-$${X}"';
    const config = read({ MY_PORT: '9000', X: 'x' }, text);
    expect([config.server.port, config.log.level, config.data_dir]).toEqual([9000, 'warn', 'a/x-${X}']);
  });

  verifies('operations.config-variables', 'an unset one is an error that names it', () => {
    expect(linesOf({}, 'models:\n  providers:\n    a: { kind: anthropic, api_key: "${A_KEY}" }')[0]).toBe(
      '  models.providers.a.api_key: the variable A_KEY is not set (signalbox.yaml:3)',
    );
  });
});

describe('problems', () => {
  verifies('operations.config-all-problems-at-once', 'types, ranges, choices and unknown keys of both sources', () => {
    const text =
      'serverr: { port: 1 }\nport: 80\nlimits:\n  rounds: 0\n  round: 3\nlog: { level: verbose }\nmodel: gpt-5';
    expect(linesOf({ PORT: 'eighty' }, text)).toEqual([
      '  server.port: must be a number, got "eighty" (environment PORT)',
      '  limits.rounds: must be greater than 0, got 0 (signalbox.yaml:4)',
      '  limits.round: is not a known key; did you mean limits.rounds? (signalbox.yaml:5)',
      '  log.level: must be debug | info | warn | error, got "verbose" (signalbox.yaml:6)',
      '  serverr: is not a known key; did you mean server? (signalbox.yaml:1)',
      '  port: is not a known key; did you mean server.port? (signalbox.yaml:2)',
      '  model: is not a known key; did you mean models? (signalbox.yaml:7)',
    ]);
  });

  test('broken YAML, a list, a bomb of aliases, a huge file', () => {
    expect(linesOf({}, 'a: [1\nb: 2')[0]).toContain('signalbox.yaml:');
    expect(linesOf({}, '- a')[0]).toContain('must be a map of settings');
    const bomb = `a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [${'*a,'.repeat(10)}]\nc: &c [${'*b,'.repeat(10)}]\nd: [${'*c,'.repeat(10)}]`;
    expect(linesOf({}, bomb)[0]).toContain('alias');
    expect(linesOf({}, `# ${'x'.repeat(1024 * 1024)}`)[0]).toContain('larger');
  });

  test('a section that is not a map is a problem, not a crash', () => {
    expect(linesOf({ PORT: '1' }, 'server: 5\nmodels: []\nmcpServers: x')).toHaveLength(3);
  });

  test('an issuer of tokens has an audience, and nobody is let in without one', () => {
    const issuer = { AUTH_JWT_ISSUER: 'https://id.example.com' };
    expect(() => read(issuer)).toThrow('auth.jwt.audience');
    const jwt = { ...issuer, AUTH_JWT_AUDIENCE: 'signalbox' };
    expect(read(jwt).auth.jwt).toMatchObject({ audience: 'signalbox' });
    expect(() => read({ ...jwt, AUTH_MODE: 'off' })).toThrow('auth.jwt');
  });

  test('isolation none has to be said twice', () => {
    expect(linesOf({ MIN_ISOLATION: 'none' })[0]).toContain('ALLOW_UNSANDBOXED=1');
    expect(read({ MIN_ISOLATION: 'none', ALLOW_UNSANDBOXED: '1' }).isolation.minimum).toBe('none');
  });
});

describe('secrets', () => {
  const canary = 'canary-5f3a9c';

  verifies('operations.config-secrets-unprintable', 'not in JSON, not in inspect, not in errors', () => {
    const environment = {
      OPENAI_API_KEY: canary,
      DATABASE_URL: `postgres://user:${canary}@db/x?password=${canary}`,
      METRICS_TOKEN: canary,
      TOKEN: canary,
    };
    const text = 'mcpServers: { d: { url: "https://h/", headers: { Authorization: "Bearer ${TOKEN}" } } }';
    const config = read(environment, text);
    expect(config.models.providers['openai']!.api_key).toBe(canary);
    const parts = [config, config.database, config.models, config.models.providers['openai'], config.mcpServers];
    for (const part of parts) {
      expect(JSON.stringify(part)).not.toContain(canary);
      expect(inspect(part, { depth: 9, showHidden: false })).not.toContain(canary);
    }
    expect(secretValues(config)).toContain(canary);
    const wrong = problemsOf({
      environment: {
        ...environment,
        MCP_SERVERS: `{"x":{"header":"${canary}","env":["${canary}"]}}`,
        MODELS_PROVIDERS: `{"o":"${canary}"}`,
      },
      file: file(`${text}\nmetrics: { tokn: ${canary} }`),
    });
    expect(wrong.problems.length).toBeGreaterThan(2);
    expect(inspect(wrong)).not.toContain(canary);
  });

  verifies(
    'operations.config-secrets-by-file',
    '*_FILE is read, both at once are refused, a missing one is named',
    () => {
      const readSecretFile = (path: string) => {
        if (path === '/run/key') return `${canary}\n`;
        throw Object.assign(new Error('no'), { code: 'ENOENT' });
      };
      const config = readConfig({ environment: { OPENAI_API_KEY_FILE: '/run/key' }, readSecretFile });
      expect(config.models.providers['openai']!.api_key).toBe(canary);
      const environment = { OPENAI_API_KEY_FILE: '/run/key', OPENAI_API_KEY: 'x', METRICS_TOKEN_FILE: '/nowhere' };
      expect(problemsOf({ environment, readSecretFile }).message).toMatch(/so is OPENAI_API_KEY_FILE/);
      expect(problemsOf({ environment, readSecretFile }).message).toMatch(/METRICS_TOKEN_FILE: .*ENOENT/);
    },
  );

  test.each(['models: *canary', 'models: >canary', 'models: {}\n}canary', 'models: "\\canary"', 'models: !canary x'])(
    'what stands where the syntax is wrong is not shown: %j',
    (text) => {
      expect(linesOf({}, text).join()).not.toContain('canary');
    },
  );

  verifies('operations.config-secrets-by-file', 'a literal secret in the file is refused', () => {
    const text = `metrics: { token: ${canary} }\ndatabase: { url: "postgres://u:${canary}@h/d" }`;
    const lines = linesOf({}, text);
    expect(lines).toHaveLength(2);
    expect(lines.join()).not.toContain(canary);
    expect(read({}, 'redis: { url: "redis://127.0.0.1:6379" }').redis.url).toBe('redis://127.0.0.1:6379');
    const several = 'redis+cluster://a:1,b:2';
    expect(read({}, `redis: { url: "${several}" }`).redis.url).toBe(several);
    for (const url of [`redis+cluster://:${canary}@a:1,b:2`, `redis+sentinel://a:1/m?sentinel_password=${canary}`]) {
      expect(linesOf({}, `redis: { url: "${url}" }`)).toHaveLength(1);
      expect(secretValues(read({ REDIS_URL: url }))).toContain(canary);
      expect(inspect(read({ REDIS_URL: url }))).not.toContain(canary);
      expect(linesOf({ REDIS_URL: `${url}&x=1` }).join()).not.toContain(canary);
    }
  });
});

test('headers are forwarded to addresses, and only those that are the caller’s to set', () => {
  const servers = (server: object) => ({ MCP_SERVERS: JSON.stringify({ docs: server }) });
  const url = 'https://example.com/mcp';
  const read = readConfig({ environment: servers({ url, forward_headers: ['Authorization', 'x-tenant'] }) });
  expect(read.mcpServers['docs']?.forward_headers).toEqual(['Authorization', 'x-tenant']);
  for (const header of [
    'Host',
    'content-length',
    'Accept-Encoding',
    'mcp-session-id',
    'Transfer-Encoding',
    'a b',
    '',
  ]) {
    expect(linesOf(servers({ url, forward_headers: [header] })).join()).toContain('cannot forward the header');
  }
  expect(linesOf(servers({ command: 'node', forward_headers: ['x'] })).join()).toContain('no url');
});

test('what becomes of changed definitions: safe unless said, a server may differ', () => {
  const { tools } = readConfig({ environment: { TOOLS_CHANGES_REMOVED: 'hold' } });
  const safe = { cosmetic: 'allow', wording: 'hold', contract: 'hold', new: 'hold', removed: 'hold' };
  expect(tools.changes).toEqual(safe);
  const differing = { docs: { url: 'https://example.com/mcp', tools: { changes: { new: 'allow' } } } };
  const { mcpServers } = readConfig({ environment: { MCP_SERVERS: JSON.stringify(differing) } });
  expect(mcpServers['docs']?.tools.changes).toEqual({ new: 'allow' });
  expect(linesOf({ TOOLS_CHANGES_NEW: 'maybe' })).toHaveLength(1);
});
