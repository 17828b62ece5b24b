import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { heapGrowing, smallFlags, v8Flags } from './tune-v8.js';

test('this Node knows the flags: setting them says nothing', () => {
  const setting = (flag: string) => {
    const program = `require('node:v8').setFlagsFromString('${flag}')`;
    const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
    expect(status).toBe(0);
    return stdout + stderr;
  };
  for (const flag of [heapGrowing(20), ...v8Flags, ...smallFlags]) expect(setting(flag)).toBe('');
  expect(setting('--no-such-flag=1')).toContain('no-such-flag');
});
