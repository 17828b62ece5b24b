import { expect } from 'vitest';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { verifies } from '../../../test/verifies.js';
import { toShownResult, toToolMessage } from './turn-state.js';

verifies('tools.results-as-text', 'a model never reads an empty result', () => {
  const ended = (blocks: ToolOutcome['blocks']): ToolOutcome => ({ state: 'completed', blocks, durationMs: 1 });
  const said = 'The tool succeeded and returned nothing.';
  for (const blocks of [[], [{ type: 'text' as const, text: '' }]]) {
    expect(toToolMessage('call_1', ended(blocks))).toEqual({
      role: 'tool',
      tool_call_id: 'call_1',
      content: said,
      blocks: [{ type: 'text', text: said }],
    });
    // Programs read what the tool returned.
    expect(toShownResult(ended(blocks))).toMatchObject({ success: true, content: '' });
  }
  const spoken = ended([{ type: 'text', text: 'x' }]);
  expect(toToolMessage('call_1', spoken)).toMatchObject({ content: 'x', blocks: spoken.blocks });
});
