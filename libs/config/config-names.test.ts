import { expect } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { readConfig } from './read-config.js';

const read = (environment: Record<string, string> = {}, text = '') =>
  readConfig({ environment, file: { path: 'signalbox.yaml', text } });

function linesOf(environment: Record<string, string>, text = ''): string[] {
  try {
    read(environment, text);
  } catch (error) {
    return (error as Error).message.split('\n').slice(1);
  }
  throw new Error('the configuration was taken');
}

verifies(
  'operations.config-names',
  'the name of a prototype is refused wherever a name may stand, other inherited ones work',
  () => {
    const names: Record<string, string> = {
      'mcpServers.__proto__': 'mcpServers: { __proto__: { url: "http://127.0.0.1:9/mcp" } }',
      'mcpServers.a.tools.rename.__proto__': 'mcpServers: { a: { builtin: a, tools: { rename: { __proto__: b } } } }',
      'toolsets.__proto__': 'toolsets: { __proto__: [a/b] }',
      'models.providers.__proto__': 'models: { providers: { __proto__: { kind: offline } } }',
      'models.aliases.__proto__': 'models: { aliases: { __proto__: a/b } }',
      'models.prices.__proto__': 'models: { prices: { __proto__: { input: 1, output: 1 } } }',
      'policy.rules.0.__proto__': 'policy: { rules: [{ name: a, tool: a/b, effect: deny, __proto__: {} }] }',
    };
    for (const [key, text] of Object.entries(names)) {
      expect(linesOf({}, text)).toEqual([
        `  ${key}: is a name that objects have themselves: choose another (signalbox.yaml:1)`,
      ]);
    }
    const [line, ...more] = linesOf({ MODELS_ALIASES: '{"__proto__": "a/b"}' });
    expect([line, more]).toEqual([expect.stringContaining('models.aliases.__proto__: is a name'), []]);
    const text = `
    mcpServers: { constructor: { url: "http://127.0.0.1:9/mcp" } }
    toolsets: { toString: [constructor/*] }
    models: { aliases: { valueOf: a/b } }`;
    const { mcpServers, toolsets, models } = read({}, text);
    expect(Object.keys(mcpServers)).toEqual(['workspace', 'constructor']);
    expect(Object.entries(toolsets)).toEqual([['toString', ['constructor/*']]]);
    expect(Object.entries(models.aliases)).toEqual([['valueOf', 'a/b']]);
  },
);
