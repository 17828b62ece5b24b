import { expect } from 'vitest';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { verifies } from '../../test/verifies.js';
import { abortAfter } from './abort-after.js';

verifies(
  'tools.deadlines',
  'a time limit that only AbortSignal.any() holds survives a collection of garbage',
  async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    let ended = 0;
    const limit = () => {
      const any = AbortSignal.any([new AbortController().signal, abortAfter(50)]);
      any.addEventListener('abort', () => void (ended += (any.reason as DOMException).name === 'TimeoutError' ? 1 : 0));
    };
    for (let at = 0; at < 20; at += 1) limit();
    // Objects that the running turn can reach are not collected.
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    await expect.poll(() => ended, { timeout: 10_000 }).toBe(20);
  },
);
