import { expect } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { costLines, toolsCostOf } from './tools-cost.js';

const tool = (server: string, name: string, tokens: number) => ({ function: { name }, server, tokens });

verifies('tools.cost', 'the command: servers and their tools, the most expensive first, and the sum', () => {
  const cost = toolsCostOf([
    tool('small', 'b', 5),
    tool('large', 'few', 20),
    tool('small', 'a', 5),
    tool('large', '读取', 1_000),
  ]);
  expect(cost).toEqual({
    tokens: 1_030,
    servers: [
      {
        name: 'large',
        tokens: 1_020,
        tools: [
          { name: '读取', tokens: 1_000 },
          { name: 'few', tokens: 20 },
        ],
      },
      {
        name: 'small',
        tokens: 10,
        tools: [
          { name: 'a', tokens: 5 },
          { name: 'b', tokens: 5 },
        ],
      },
    ],
  });
  expect(costLines(cost)).toEqual([
    'tokens  server or tool',
    '  1020  large (2)',
    '  1000    large/读取',
    '    20    large/few',
    '    10  small (2)',
    '     5    small/a',
    '     5    small/b',
    '  1030  all 4 tools, about, in each model call that offers them',
  ]);
  expect(costLines(toolsCostOf([]))).toEqual(['No tools were found: is a worker running?']);
});
