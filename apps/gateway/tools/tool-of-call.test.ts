import { expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { verifies } from '../../../test/verifies.js';
import { toolOfCall } from './tool-of-call.js';

const changing = { safe: false, readOnly: false, cacheTtlMs: 1 } as CatalogTool;
const fetching = { ...changing, readOnlyWhen: { method: ['GET', 'HEAD'], save_to: [] } };
const judged = (tool: CatalogTool, args: JsonObject) => {
  const { safe, readOnly, cacheTtlMs } = toolOfCall(tool, args);
  return [safe, readOnly, cacheTtlMs];
};

verifies('tools.calls-that-read', 'by their arguments, where the tool says which', () => {
  const reading: JsonObject[] = [{}, { method: 'GET' }, { method: 'HEAD', url: 'x' }];
  for (const args of reading) {
    expect(judged(fetching, args)).toEqual([true, true, 1]);
  }
  const writing: JsonObject[] = [
    { method: 'POST' },
    { method: 'get' },
    { save_to: 'x' },
    { save_to: null },
    { method: ['GET'] },
  ];
  for (const args of writing) {
    expect(judged(fetching, args)).toEqual([false, false, undefined]);
  }
  expect(judged(changing, { method: 'GET' })).toEqual([false, false, 1]);
});
