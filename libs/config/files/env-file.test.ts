import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { verifies } from '../../../test/verifies.js';
import { readConfigWithOrigins } from '../read-config.js';
import { readEnvFile } from './env-file.js';

const directory = mkdtempSync(join(tmpdir(), 'signalbox-env-'));
afterAll(() => rmSync(directory, { recursive: true }));

let count = 0;
function written(content: string | Buffer): string {
  const path = join(directory, `${(count += 1)}.env`);
  writeFileSync(path, content);
  return path;
}

function problemOf(content: string | Buffer): string {
  try {
    readEnvFile(written(content), {});
    return 'taken';
  } catch (error) {
    return (error as Error).message;
  }
}

verifies('operations.env-file', 'adds what the environment does not have; an empty variable there wins too', () => {
  const environment = { GIVEN: 'here', EMPTY: '', SAME: 'x' };
  const file = readEnvFile(written('GIVEN=file\nEMPTY=file\nSAME=x\nNEW=file\n'), environment);
  expect(environment).toEqual({ GIVEN: 'here', EMPTY: '', SAME: 'x', NEW: 'file' });
  expect(file!.names).toEqual(new Set(['SAME', 'NEW']));
  expect(readEnvFile(join(directory, 'none.env'), environment)).toBeUndefined();
});

test('reads what such files have in them', () => {
  const environment: Record<string, string | undefined> = {};
  const text = [
    '\ufeff# a comment',
    'export A=1',
    '  B = two words  # why',
    'C=\'{"a": "#1"}\'',
    'D={"a":{"b":1}}',
    'E="one',
    'two"',
    'F=x=y',
    'G=',
    '#H=1',
    "I=it's",
  ].join('\r\n');
  readEnvFile(written(text), environment);
  expect(environment).toEqual({
    A: '1',
    B: 'two words',
    C: '{"a": "#1"}',
    D: '{"a":{"b":1}}',
    E: 'one\ntwo',
    F: 'x=y',
    G: '',
    I: "it's",
  });
});

verifies('operations.env-file', 'a line that would be lost is an error with its number, without its text', () => {
  expect(problemOf('A=1\n\nsk-canary\nB="x\nC=2\n')).toBe(
    'The configuration has 2 problems:\n' +
      '  .env:3: is neither NAME=value nor a comment, which begins with #\n' +
      '  .env:4: the value of B begins with ", which is not closed',
  );
  expect(problemOf('KEY=abc#canary')).toMatch(/\.env:1: KEY has a # in its value, .*quotes/);
  expect(problemOf('KEY="abc"canary')).toMatch(/\.env:1: the value of KEY has text after its closing "/);
  expect(problemOf('1A=canary')).toMatch(/\.env:1: is neither/);
  expect(problemOf(Buffer.from('\ufeffA=1', 'utf16le'))).toMatch(/\.env: is not text in UTF-8/);
  expect(problemOf('KEY=abc#canary')).not.toContain('canary');
  mkdirSync(join(directory, 'folder'));
  expect(() => readEnvFile(join(directory, 'folder'), {})).toThrow('.env: is a directory');
});

test('the origin of a value is the file', () => {
  const { origins } = readConfigWithOrigins({
    environment: { PORT: '1234', OPENAI_API_KEY: 'canary' },
    fromEnvFile: new Set(['OPENAI_API_KEY']),
  });
  expect(origins.get('server.port')).toBe('environment PORT');
  expect(origins.get('models.providers.openai.api_key')).toBe('.env OPENAI_API_KEY');
});
