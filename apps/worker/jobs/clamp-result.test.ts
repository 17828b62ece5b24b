import { expect } from 'vitest';
import { contentText } from '#libs/schemas/content-block.js';
import { verifies } from '../../../test/verifies.js';
import { clampResult } from './clamp-result.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { readToolResult } from './read-result.js';

const bounds = { maxResultBytes: 1_000, maxReadBytes: 10_000 };
const text = (value: string): ToolOutcome => ({
  state: 'completed',
  blocks: [{ type: 'text', text: value }],
  durationMs: 0,
});

verifies('tools.results-clamped', 'head, tail and the path of the whole', async () => {
  const kept: string[] = [];
  const keep = async (whole: string) => {
    kept.push(whole);
    return '/mcp_workspaces/s/.results/call_1.txt';
  };
  const small = text('small');
  expect(await clampResult(small, bounds, keep)).toBe(small);
  const whole = `head${'é'.repeat(2_000)}tail`;
  const clamped = await clampResult(text(whole), bounds, keep);
  expect(kept).toEqual([whole]);
  expect(clamped.truncated).toBe(true);
  const shown = contentText(clamped.blocks);
  expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(1_000);
  expect(shown).toMatch(/^headé/);
  expect(shown).toMatch(/étail$/);
  expect(shown).toContain('/mcp_workspaces/s/.results/call_1.txt');
  expect(shown).not.toContain('\ufffd');
});

verifies('tools.results-clamped', 'too large to read at all; no room to keep it', async () => {
  const met: string[] = [];
  const onBound = (bound: string) => void met.push(bound);
  const tooLarge = await clampResult(text('x'.repeat(20_000)), { ...bounds, onBound }, async () => 'never');
  expect(tooLarge).toMatchObject({ state: 'failed', error: { code: 'result_too_large' } });
  expect(met).toEqual(['message_bytes']);
  const full = await clampResult(text('x'.repeat(5_000)), bounds, () => Promise.reject(new Error('full')));
  expect(full).toMatchObject({ state: 'completed', truncated: true });
  expect(contentText(full.blocks)).toContain('could not be stored');
});

verifies('tools.results-clamped', 'more blocks than anybody looks through', () => {
  const met: string[] = [];
  const blocks = (count: number) =>
    readToolResult({ content: Array.from({ length: count }, () => 0) }, undefined, (bound) => void met.push(bound));
  expect(blocks(10_000)).toMatchObject({ state: 'completed' });
  expect(met).toEqual([]);
  expect(blocks(10_001)).toMatchObject({ state: 'failed', error: { code: 'result_too_large' } });
  expect(met).toEqual(['content_blocks']);
});

verifies(
  'tools.results-clamped',
  'structured content counts once, and is the whole of a result without text',
  async () => {
    const read = (items: number) =>
      readToolResult({ structuredContent: { list: Array.from({ length: items }, (_each, at) => at) } }, undefined);
    const kept: string[] = [];
    const keep = async (whole: string) => `kept-${kept.push(whole)}`;
    const small = read(200);
    expect(await clampResult(small, bounds, keep)).toBe(small);
    const clamped = await clampResult(read(400), bounds, keep);
    expect(kept).toEqual([JSON.stringify(read(400).structuredContent)]);
    expect(clamped).toMatchObject({ truncated: true });
    expect(clamped.structuredContent).toBeUndefined();
    expect(contentText(clamped.blocks)).toMatch(/^\{"list":\[0,1,[^]*kept-1[^]*399\]\}$/);
  },
);
