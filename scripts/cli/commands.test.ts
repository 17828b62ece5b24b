import { expect, test } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { commands, helpOf, helpOfAll, nearestCommand, type CommandName } from './commands.js';
import { readArguments } from './usage-error.js';

const names = Object.keys(commands) as CommandName[];

verifies('operations.program', 'each command has help with a usage, an example of itself, and its exit codes', () => {
  for (const name of names) {
    const help = helpOf(name);
    expect(help).toMatch(/^Usage:$/m);
    expect(help).toContain(`Example: signalbox ${name}`);
    expect(help).toMatch(/^Exit codes: 0 /m);
    expect(helpOfAll()).toContain(`  ${name} `);
  }
});

verifies('operations.program', 'a word that is no command is answered with the nearest', () => {
  expect(['kyes', 'polcy', 'strat', 'doc', 'mirgate'].map(nearestCommand)).toEqual([
    'keys',
    'policy',
    'start',
    'doctor',
    'migrate',
  ]);
  expect([nearestCommand('upgrade'), nearestCommand('x')]).toEqual([undefined, undefined]);
});

test('arguments that cannot be read are reported with the usage', () => {
  expect(() => readArguments('replay', { args: ['--modle', 'x'], options: { model: { type: 'string' } } })).toThrow(
    /^Unknown option '--modle'\.\nUsage:\n {2}signalbox replay RUN_ID/,
  );
});
