// Test support: what must hold for every answer to bad input, and for the gateway afterwards.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { type AppError, errorTable, type ErrorCode } from '#libs/schemas/errors.js';
import type { Signalbox } from './services/start-signalbox.js';
import { completeChat, user } from './chat-client.js';
import type { RawAnswer } from './raw-request.js';

/** A secret that must never be exposed; sent as a key with every request, and used as the upstream's own. */
export const canary = 'sb_canary_7c1e9f';
const checkout = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '');
const stack = /\bat (?:async )?[\w.<>]+ \(|\bat file:\/\/|node_modules|\.js:\d+:\d+/;

/** `"400 invalid_json"`, `"200"`, or a list of alternatives. */
export type Expected = string | string[];

export function expectAnswer(answer: RawAnswer, expected: Expected, box: Signalbox, param?: string): void {
  const parsed = isJson(answer) ? (JSON.parse(answer.text) as { error?: Partial<Record<string, unknown>> }) : undefined;
  const code = parsed?.error?.['code'];
  const got = typeof code === 'string' ? `${answer.status} ${code}` : String(answer.status);
  expect([expected].flat(), answer.text.slice(0, 400)).toContain(got);
  expectNoLeak(answer.text, box);
  if (answer.status < 400) return;
  const { error } = parsed!;
  expect(Object.keys(parsed!)).toEqual(['error']);
  const { type } = errorTable[error!['code'] as ErrorCode];
  expect(error).toMatchObject({ type, message: expect.stringMatching(/./), request_id: expect.stringMatching(/./) });
  expect(error!['request_id']).toBe(answer.headers['x-request-id']);
  const known = ['message', 'type', 'code', 'param', 'tool_name', 'request_id'];
  expect(Object.keys(error!).filter((key) => !known.includes(key))).toEqual([]);
  expect((error as unknown as AppError).message.length).toBeLessThan(1_000);
  if (param !== undefined) expect(error!['param']).toBe(param);
}

/** `"400 -32600 invalid_value"`: the status, the JSON-RPC error number, and our code in the error or the result. */
export function expectRpcAnswer(answer: RawAnswer, expected: Expected, box: Signalbox): void {
  const { error, result } = (isJson(answer) ? JSON.parse(answer.text) : {}) as RpcAnswer;
  const code = error?.data?.code ?? result?._meta?.['signalbox/error_code'];
  const got = [answer.status, error?.code, code].filter((part) => part !== undefined).join(' ');
  expect([expected].flat(), answer.text.slice(0, 400)).toContain(got);
  expectNoLeak(answer.text, box);
  expect(error?.message.length ?? 0).toBeLessThan(1_000);
}

interface RpcAnswer {
  error?: { code: number; message: string; data?: { code?: string } };
  result?: { _meta?: { 'signalbox/error_code'?: string } };
}

const isJson = ({ headers }: RawAnswer) => String(headers['content-type']).startsWith('application/json');

export function expectNoLeak(text: string, box: Signalbox): void {
  expect(text).not.toMatch(stack);
  for (const secret of [canary, checkout, box.workspacesDir, 'internal_error']) expect(text).not.toContain(secret);
}

/** Resident memory of a process in bytes; undefined if the system does not report it. */
export async function residentBytes(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(status)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

/** The gateway still answers, its memory has barely grown, and its log contains no secret. */
export async function expectStillWell(box: Signalbox, residentBefore: number | undefined, maxGrowth: number) {
  const answer = await completeChat(box.gateways[0]!.url, { messages: [user('still there?')] });
  expect(answer.choices[0]!.finish_reason).toBe('stop');
  const resident = await residentBytes(box.gateways[0]!.pid);
  if (resident !== undefined && residentBefore !== undefined) {
    expect((resident - residentBefore) / 1_048_576).toBeLessThan(maxGrowth / 1_048_576);
  }
  for (const { log, stray } of [...box.gateways, ...box.workers]) {
    expect(stray).toEqual([]);
    for (const line of log) {
      const text = JSON.stringify(line);
      expect(text).not.toMatch(/uncaught|unhandled/i);
      expect(line['message']).not.toBe('forged');
      expectNoLeak(text, box);
    }
  }
}
