// The configuration as documents, made from the schema: `.env.example`, the JSON Schema for editors, the table.
import { z } from 'zod';
import { environmentName, knownProviders } from '../environment.js';
import { configSchema } from '../schema.js';
import { entrySettings, settings, type Setting } from './schema-walk.js';

export function printEnvironmentExample(): string {
  const lines = [
    '# Every variable that Signalbox reads, with its default. Written by `npm run docs:generate`.',
    '# A variable that is not set, or empty, means the default; NAME_FILE names a file that holds the value.',
    '',
    '# The configuration file; without it ./signalbox.yaml is taken if it is there.',
    '#SIGNALBOX_CONFIG=signalbox.yaml',
    '',
    '# Each of these alone switches a provider on.',
    ...knownProviders.flatMap(({ variable, members, sets, baseUrlVariable }) => [
      `#${variable}=${sets === 'base_url' ? members.base_url : ''}`,
      ...(baseUrlVariable === undefined ? [] : [`#${baseUrlVariable}=${members.base_url}`]),
    ]),
  ];
  let section = '';
  for (const setting of settings) {
    if (setting.path[0] !== section) lines.push('', `# ── ${(section = setting.path[0]!)}`);
    lines.push(`# ${describe(setting)}`, `#${environmentName(setting.path)}=${exampleOf(setting)}`);
  }
  return `${lines.join('\n')}\n`;
}

export function printJsonSchema(): string {
  const schema = z.toJSONSchema(configSchema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      delete jsonSchema['secret'];
      delete jsonSchema.format;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      // `${NAME}` may stand where a number or a switch is wanted.
      if (['integer', 'number', 'boolean'].includes(jsonSchema.type as string)) {
        const { description, default: fallback, ...own } = { ...jsonSchema };
        for (const key of Object.keys(jsonSchema)) delete (jsonSchema as Record<string, unknown>)[key];
        jsonSchema.anyOf = [own, { type: 'string', pattern: '\\$\\{' }];
        if (description !== undefined) jsonSchema.description = description;
        if (fallback !== undefined) jsonSchema.default = fallback;
      }
    },
  });
  return `${JSON.stringify({ title: 'signalbox.yaml', ...schema }, null, 2)}\n`;
}

export function printReference(): string {
  return `# Configuration

<!-- Written by \`npm run docs:generate\` from libs/config/schema.ts. -->

Signalbox runs without any. Settings come from \`signalbox.yaml\` (another path: \`SIGNALBOX_CONFIG\`) and from the
environment, which wins. \`npm run config check\` prints what is in force and where each value came from, or everything
that is wrong. Editors complete the file with [config/signalbox.schema.json](../config/signalbox.schema.json):

\`\`\`yaml
# yaml-language-server: $schema=./config/signalbox.schema.json
models:
  default: ollama/llama3.2
  providers:
    ollama: { kind: openai, base_url: http://127.0.0.1:11434/v1 }
    openai: { kind: openai, base_url: https://api.openai.com/v1, api_key: "\${OPENAI_API_KEY}" }
mcpServers:
  docs: { url: https://example.com/mcp, headers: { Authorization: "Bearer \${DOCS_TOKEN}" } }
\`\`\`

* Every key has a variable: its path in capitals, joined by underscores (\`tools.max_result_bytes\` is
  \`TOOLS_MAX_RESULT_BYTES\`); a few have the shorter name that the tables show. Lists are separated by commas, maps are
  JSON and add to those of the file. An empty variable counts as unset.
* \`\${NAME}\` in a value of the file is that variable, \`\${NAME:-text}\` with a fallback, \`$\${\` a plain \`\${\`. A variable
  that is not set is an error.
* Secrets never stand in the file: they come from a variable, or from the file that \`NAME_FILE\` names.
* Unknown keys are errors.
* Workers notice changes of \`mcpServers\` ([tool-servers.md](tool-servers.md#changing-servers)), gateways changes of
  \`policy\` ([policy.md](policy.md#changing-rules)); all else needs a restart.

## Providers by one variable

| variable | switches on | address |
|---|---|---|
${knownProviders.map(({ variable, name, members, baseUrlVariable }) => `| \`${variable}\` | \`${name}\` | ${members.base_url}${baseUrlVariable === undefined ? '' : ` (\`${baseUrlVariable}\`)`} |`).join('\n')}

## Settings

| key | variable | default | meaning |
|---|---|---|---|
${settings.map((setting) => `| \`${setting.path.join('.')}\` | \`${environmentName(setting.path)}\` | ${defaultOf(setting)} | ${describe(setting)} |`).join('\n')}

## A provider (\`models.providers.NAME\`)

${entryTable(entrySettings(['models', 'providers']))}

## A tool server (\`mcpServers.NAME\`)

One of \`builtin\`, \`command\`, \`url\`. The builtin server \`workspace\` is there unless \`workspace: { enabled: false }\`;
[own tools](own-tools.md#in-the-worker) of the worker are unless \`NAME: { builtin: NAME, enabled: false }\`.

${entryTable(entrySettings(['mcpServers']))}
`;
}

function entryTable(entries: Setting[]): string {
  const rows = entries.map((entry) => `| \`${entry.path.join('.')}\` | ${defaultOf(entry)} | ${describe(entry)} |`);
  return ['| key | default | meaning |', '|---|---|---|', ...rows].join('\n');
}

function describe({ description, choices, secrecy }: Setting): string {
  const notes = [choices?.map((choice) => `\`${choice}\``).join(', '), secrecy === undefined ? undefined : 'secret'];
  const tail = notes.filter((note) => note !== undefined).join('; ');
  return tail === '' ? description : `${description} (${tail})`;
}

function defaultOf(setting: Setting): string {
  const text = exampleOf(setting);
  return text === '' ? '' : `\`${text}\``;
}

/** As an environment variable would say it; nothing for empty lists and maps. */
function exampleOf({ defaultValue }: Setting): string {
  if (typeof defaultValue === 'object' || defaultValue === undefined) return '';
  return String(defaultValue);
}
