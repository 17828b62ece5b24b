import { expect, test } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { NotImportable } from './imported-server.js';
import { readServers, type Asked } from './read-servers.js';
import { withServers, withVariables, yamlOf } from './write-servers.js';

const nothingBeside = () => {
  throw new NotImportable('no file');
};
const read = (file: unknown, asked: Asked = {}, beside: (path: string) => string = nothingBeside) =>
  readServers(typeof file === 'string' ? file : JSON.stringify(file), asked, beside);
const only = (file: unknown, asked?: Asked) => {
  const { servers, refused } = read(file, asked);
  expect(refused).toEqual([]);
  return servers[0]!;
};
const whyOf = (file: unknown) => read(file).refused[0]?.why;

const weather = {
  name: 'io.github.ada/weather',
  description: 'Forecasts',
  packages: [
    { registryType: 'oci', identifier: 'docker.io/ada/weather:1', transport: { type: 'stdio' } },
    {
      registryType: 'npm',
      identifier: '@ada/weather',
      version: '1.2.3',
      runtimeHint: 'npx',
      runtimeArguments: [{ type: 'positional', value: '-y' }],
      transport: { type: 'stdio' },
      packageArguments: [
        { type: 'positional', value: 'serve; rm -rf ~' },
        { type: 'named', name: '--units', default: 'metric', choices: ['metric', 'imperial'] },
        { type: 'named', name: '--log' },
        { type: 'named', name: '--area', value: '{place}-{other}', variables: { place: { default: 'eu' } } },
      ],
      environmentVariables: [
        { name: 'WEATHER_KEY', isSecret: true, isRequired: true, description: 'From your account' },
        { name: 'PINNED', isSecret: true, value: 'abc' },
        { name: 'MODE', isRequired: true, choices: ['a', 'b'] },
        { name: 'LOG', isRequired: false },
        { name: 'TEMPLATE', value: '${HOME}' },
      ],
    },
  ],
  remotes: [{ type: 'streamable-http', url: 'https://{tenant}.example.com/mcp', variables: { tenant: {} } }],
};

verifies('tools.add', 'a package of npm in a server.json, bare and wrapped by the registry', () => {
  const server = only(weather);
  expect([server.name, server.entry]).toEqual([
    'weather',
    {
      command: 'npx',
      args: ['-y', '@ada/weather@1.2.3', 'serve; rm -rf ~', '--units', 'metric', '--area', 'eu-{other}'],
      env: {
        WEATHER_KEY: '${MCP_WEATHER_WEATHER_KEY}',
        PINNED: '${MCP_WEATHER_PINNED}',
        MODE: '${MCP_WEATHER_MODE}',
        TEMPLATE: '$${HOME}',
      },
    },
  ]);
  expect([...server.needed]).toEqual([
    ['MCP_WEATHER_WEATHER_KEY', 'From your account'],
    ['MCP_WEATHER_MODE', 'one of "a", "b"'],
  ]);
  expect([...server.moved]).toEqual([['MCP_WEATHER_PINNED', 'abc']]);
  expect(only({ server: weather, _meta: {} }).entry).toEqual(server.entry);
  expect(
    only({ servers: [{ server: weather, _meta: {} }], metadata: { count: 1 } }, { name: 'weather' }).entry,
  ).toEqual(server.entry);
});

verifies('tools.add', 'an address with variables and a secret header; a package of PyPI', () => {
  const remote = only({
    ...weather,
    packages: [],
    remotes: [
      {
        ...weather.remotes[0],
        headers: [{ name: 'Authorization', value: 'Bearer {token}', variables: { token: { isSecret: true } } }],
      },
    ],
  });
  expect(remote.entry).toEqual({
    url: 'https://${MCP_WEATHER_TENANT}.example.com/mcp',
    transport: 'http',
    headers: { Authorization: 'Bearer ${MCP_WEATHER_TOKEN}' },
  });
  const python = { registryType: 'pypi', identifier: 'mcp-server-time', version: '1.0', transport: { type: 'stdio' } };
  expect(only({ name: 'a/时间', packages: [python] }, { as: 'time' }).entry).toEqual({
    command: 'uvx',
    args: ['mcp-server-time@1.0'],
  });
});

verifies('tools.add', 'what cannot run here is said with what to do', () => {
  const of = (each: object) => whyOf({ name: 'x', packages: [{ identifier: 'ada/x:1', ...each }] });
  expect(of({ registryType: 'oci' })).toMatch(/container image.*run it yourself/);
  expect(of({ registryType: 'nuget' })).toContain('dotnet tool install');
  expect(of({ registryType: 'mcpb' })).toContain('manifest.json');
  expect(of({ registryType: 'npm', transport: { type: 'sse', url: 'http://localhost' } })).toContain('add its url');
  expect(of({ registryType: 'npm', identifier: '--x $(rm)' })).toContain('not the name of a package');
});

const cursor = `{
  // mine
  "mcpServers": {
    "git hub": {
      "command": "npx", "args": ["-y", "server-github", "--token", "s3cr3t", "postgres://ada:pw@db/x"],
      "env": { "GITHUB_TOKEN": "ghp_0123456789abcdef", "LOG_LEVEL": "debug", "HOME_DIR": "\${userHome}/x",
               "OWN": "\${env:GH_OWN}" }, /* "a": 1 */
      "autoApprove": ["x"],
    },
    "crm": { "url": "https://crm.example/mcp?api_key=abc&v=2", "headers": { "Authorization": "Bearer abc", "Accept": "a/b" } },
  },
}`;

verifies('tools.add', 'a file of Cursor with comments: no literal secret is left in what is written', () => {
  const { servers } = read(cursor);
  const [github, crm] = servers;
  expect(github).toMatchObject({
    name: 'git-hub',
    entry: {
      args: ['-y', 'server-github', '--token', '${MCP_GIT_HUB_TOKEN}', '${MCP_GIT_HUB_ARGUMENT}'],
      env: {
        GITHUB_TOKEN: '${MCP_GIT_HUB_GITHUB_TOKEN}',
        LOG_LEVEL: 'debug',
        HOME_DIR: '~/x',
        OWN: '${GH_OWN}',
      },
    },
    notes: ['left out, without a setting here: autoApprove'],
  });
  expect([...github!.needed.keys()]).toEqual(['GH_OWN']);
  expect(crm!.entry).toEqual({
    url: 'https://crm.example/mcp?api_key=${MCP_CRM_API_KEY}&v=2',
    headers: { Authorization: 'Bearer ${MCP_CRM_AUTHORIZATION}', Accept: 'a/b' },
  });
  const yaml = yamlOf(servers);
  for (const { moved } of servers) for (const value of moved.values()) expect(yaml).not.toContain(value);
  expect(servers.flatMap(({ moved }) => [...moved.values()])).toEqual([
    'ghp_0123456789abcdef',
    's3cr3t',
    'postgres://ada:pw@db/x',
    'abc',
    'abc',
  ]);
});

verifies('tools.add', 'a file of VS Code: what it would ask for, its folder, a file of variables', () => {
  const file = {
    inputs: [{ type: 'promptString', id: 'perplexity-key', description: 'API key', password: true }],
    servers: {
      files: { type: 'stdio', command: 'npx', args: ['server-files', '${workspaceFolder}'], envFile: 'x/.env' },
      search: { type: 'http', url: 'https://s.example/', headers: { 'X-Key': '${input:perplexity-key}' } },
    },
  };
  const [files, search] = read(file, {}, (path) => `FROM='${path} secret'`).servers;
  expect(files!.entry).toMatchObject({ args: ['server-files', '${WORKSPACE}'], env: { FROM: '${MCP_FILES_FROM}' } });
  expect(files!.moved.get('MCP_FILES_FROM')).toBe('x/.env secret');
  expect(search!.entry).toEqual({
    url: 'https://s.example/',
    transport: 'http',
    headers: { 'X-Key': '${MCP_SEARCH_PERPLEXITY_KEY}' },
  });
  expect(search!.needed.get('MCP_SEARCH_PERPLEXITY_KEY')).toBe('API key');
  expect(read({ mcp: file }, { name: 'search', as: '2nd' }).servers.map(({ name }) => name)).toEqual(['2nd']);
});

verifies('tools.add', 'hostile files are refused with a sentence', () => {
  const entry = (given: object) => whyOf({ mcpServers: { x: given } });
  expect(entry({ command: 'npx', env: { A: '${VAULT_KEY}' } })).toContain('a setting of Signalbox');
  expect(entry({ command: 'npx', env: JSON.parse('{"__proto__": "x"}') as object })).toContain('__proto__');
  expect(entry({ command: 'a\u001b[2Jb' })).toContain('control characters');
  expect(entry({ command: '/srv/a\u202eb' })).toContain('control characters');
  expect(entry({ url: 'https://ada:pw@x/' })).toContain('use a header');
  expect(entry({ command: 'x', args: ['${command:evil}'] })).toContain('means nothing here');
  expect(entry({ command: ['x'] })).toBe('command is not text');
  expect(whyOf({ mcpServers: { 工具: { command: 'x' } } })).toContain('--as');
  expect(whyOf('{"mcpServers": {"__proto__": {"url": "https://a.example/"}, "proto": {"command": "x"}}}')).toContain(
    'another server of the file is named proto',
  );
  for (const text of ['', '[]', '{', '/*'.repeat(400_000), '"\\'.repeat(400_000), `{"a":${'['.repeat(500_000)}`])
    expect(() => read(text)).toThrow(NotImportable);
  expect(() => read({ mcpServers: {} })).toThrow('no tool servers');
  expect(() => read(cursor, { name: 'no' })).toThrow('It has: git hub, crm');
});

verifies('tools.add', 'the file keeps its comments and order, and a taken name is refused', () => {
  const text = '# ours\nserver: { port: 9000 } # here\nmcpServers:\n  # first\n  a: { command: x }\n\n# end\nrest: 1\n';
  const servers = [{ name: 'b', entry: { command: 'y\nz', args: ['1'] } }];
  const after = withServers({ path: 'signalbox.yaml', text }, servers);
  const at = after.indexOf('  b:');
  expect(at).toBeGreaterThan(0);
  for (const part of [
    '# ours\nserver: { port: 9000 } # here\nmcpServers:\n  # first\n  a: { command: x }\n',
    '# end\n',
  ])
    expect(after).toContain(part);
  expect(withServers({ path: 'signalbox.yaml', text: '' }, servers)).toBe(yamlOf(servers));
  expect(() => withServers({ path: 'signalbox.yaml', text }, [{ name: 'a', entry: {} }])).toThrow('--as');
});

test('lines of .env say the value that they were given', () => {
  const values = new Map([
    ['A', 'one # two'],
    ['B', `it's "so"`],
    ['C', '-----BEGIN\nx\\n\n-----END'],
  ]);
  expect(withVariables('OLD=1', values)).toBe(
    "OLD=1\nA='one # two'\nB=`it's \"so\"`\nC='-----BEGIN\nx\\n\n-----END'\n",
  );
  expect(() => withVariables('', new Map([['D', `'"\`\\n`]]))).toThrow('set it yourself');
});
