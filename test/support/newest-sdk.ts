// Test support: the newest major version of the official OpenAI SDK, which wants a newer Node than the oldest of ours. It has a
// package.json of its own, which .ci/run installs: `npm ci --prefix test/newest-sdk`. Without it
// test/contract/newest-sdk.test.ts is skipped, and other suites run with the version before alone.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type OpenAI from 'openai';

const directory = new URL('../newest-sdk/', import.meta.url);
export const isInstalled = existsSync(fileURLToPath(new URL('node_modules/openai-7/package.json', directory)));

/** Undefined where it is not installed. */
export const OpenAI7 = isInstalled
  ? (createRequire(new URL('package.json', directory))('openai-7') as { default: typeof OpenAI }).default
  : undefined;

/** The major versions that are there, by their numbers. */
export const openAiMajors = (six: typeof OpenAI): [string, typeof OpenAI][] => [
  ['6', six],
  ...(OpenAI7 === undefined ? [] : [['7', OpenAI7] as [string, typeof OpenAI]]),
];
