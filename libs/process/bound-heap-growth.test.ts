import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { heapGrowthFlag } from './bound-heap-growth.js';

test('this Node knows the flag: setting it says nothing', () => {
  const setting = (flag: string) => {
    const program = `require('node:v8').setFlagsFromString('${flag}')`;
    const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
    expect(status).toBe(0);
    return stdout + stderr;
  };
  expect(setting(heapGrowthFlag)).toBe('');
  expect(setting('--no-such-flag=1')).toContain('no-such-flag');
});
