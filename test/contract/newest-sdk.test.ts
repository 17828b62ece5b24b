import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { isInstalled } from '../support/newest-sdk.js';
import { runProgram } from '../support/run-program.js';

const path = (from: string) => fileURLToPath(new URL(`../../${from}`, import.meta.url));

test.skipIf(!isInstalled)(
  'our types fit the newest openai SDK, and it takes what the client library adds (npm ci --prefix test/newest-sdk)',
  async () => {
    const compiler = [path('node_modules/typescript-7/bin/tsc'), '--noEmit', '-p', path('test/newest-sdk')];
    expect(await runProgram(process.execPath, compiler)).toMatchObject({ code: 0, stdout: '' });
  },
);
